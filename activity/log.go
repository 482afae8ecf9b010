package activity

import "go.temporal.io/sdk/log"

// callLogger names the call in what it logs. Most executions log nothing, so that
// the name, a digest, is made when there is something to log.
type callLogger struct {
	logger log.Logger
	key    string
}

// named skips the methods below: where loggers tell the line, it is their caller's.
func (l callLogger) named() log.Logger {
	return log.With(log.Skip(l.logger, 1), "DedupeKey", ShortKey(l.key))
}

func (l callLogger) Info(message string, keyvals ...any)  { l.named().Info(message, keyvals...) }
func (l callLogger) Warn(message string, keyvals ...any)  { l.named().Warn(message, keyvals...) }
func (l callLogger) Error(message string, keyvals ...any) { l.named().Error(message, keyvals...) }
