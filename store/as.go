package store

// As finds, in a store or in what it decorates, one that is a T, such as [Selective] or
// a store's own type. A decorator says what it decorates by a method
// Unwrap() Store. It is what errors.As is for errors.
func As[T any](s Store) (T, bool) {
	for s != nil {
		if found, ok := s.(T); ok {
			return found, true
		}
		decorator, ok := s.(interface{ Unwrap() Store })
		if !ok {
			break
		}
		s = decorator.Unwrap()
	}
	var none T
	return none, false
}
