package telemetry

// Source tells where a call's identity comes from.
type Source string

// The sources.
const (
	SourceWorkflow   Source = "workflow"
	SourceBusiness   Source = "business_key"
	SourceInvocation Source = "invocation"
	SourceStandalone Source = "standalone"
	SourceEffect     Source = "effect"
)

// Sources lists the sources, with what each means.
var Sources = []struct {
	Source Source
	Text   string
}{
	{SourceWorkflow, "The header of the workflow side."},
	{SourceBusiness, "The caller's own key."},
	{SourceInvocation, "No usable header: attempts of one scheduling only."},
	{SourceStandalone, "An activity without a workflow."},
	{SourceEffect, "No activity, but an effect of `dedupe.Do` within one, with a record of its own."},
}
