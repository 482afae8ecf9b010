package wire

// OfSession tells whether an activity belongs to the SDK's session framework. Those hold
// a place on one worker for as long as a session lasts: a result of the past would be of
// no use to anybody. Both sides must agree on it: what one of them numbers and the other
// does not, moves the numbers of calls.
func OfSession(activityType string) bool {
	return activityType == "internalSessionCreationActivity" || activityType == "internalSessionCompletionActivity"
}
