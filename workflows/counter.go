package workflows

// kind separates calls that are counted apart.
type kind int

const (
	regular kind = iota
	local
	child
)

// subject is what is counted: the calls of one kind and type, and where a step
// or arguments are given, those that share them.
type subject struct {
	kind            kind
	name            string
	step, arguments string
}

// counter holds how many calls of each subject the instance has made. A map
// that is never iterated keeps the order of calls the only thing that matters.
type counter map[subject]int

func (c counter) next(s subject) int {
	c[s]++
	return c[s]
}
