package doctor

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/seed5aa7bdf6/temporal-dedupe/activity"
)

// namespace is what Temporal says of the namespace.
type namespace struct{ retention time.Duration }

// checkTemporal asks for the namespace, for itself and for the check after it.
// Every answer but the namespace is a finding.
func checkTemporal(ctx context.Context, e *exam) ([]string, error) {
	t := e.options.Temporal
	transport := insecure.NewCredentials()
	if t.TLS || t.APIKey != "" {
		transport = credentials.NewTLS(&tls.Config{MinVersion: tls.VersionTLS12})
	}
	conn, err := grpc.NewClient(t.Address, grpc.WithTransportCredentials(transport))
	if err != nil {
		return refused(fmt.Errorf("the address %s cannot be used: %w", t.Address, err)), nil
	}
	defer func() { _ = conn.Close() }()
	if t.APIKey != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+t.APIKey, "temporal-namespace", t.Namespace)
	}
	answer, err := workflowservice.NewWorkflowServiceClient(conn).
		DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: t.Namespace})
	switch status.Code(err) {
	case codes.OK:
		e.probed = &namespace{retention: answer.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration()}
		return nil, nil
	case codes.NotFound:
		return []string{fmt.Sprintf("%s answers, but has no namespace %q", t.Address, t.Namespace)}, nil
	default:
		return []string{fmt.Sprintf("%s does not answer: %s", t.Address, status.Convert(err).Message())}, nil
	}
}

// checkNamespaceRetention compares how long closed workflows can be reset with
// how long their calls are remembered.
func checkNamespaceRetention(ctx context.Context, e *exam) ([]string, error) {
	if e.probed == nil || e.probed.retention == 0 {
		return nil, nil // see temporal; without a retention nothing is ever deleted or compared
	}
	kept, err := e.retentions(ctx)
	if err != nil {
		return nil, err
	}
	var short []string
	for _, k := range kept {
		if k.retention < e.probed.retention {
			short = append(short, fmt.Sprintf("%s %v", k.what, k.retention.Round(time.Second)))
		}
	}
	if len(short) == 0 {
		return nil, nil
	}
	return []string{fmt.Sprintf("the namespace %s keeps closed workflows for %v, but records are kept for less: %s",
		e.options.Temporal.Namespace, e.probed.retention, strings.Join(short, ", "))}, nil
}

// kept is how long records of one kind are kept.
type kept struct {
	what      string
	retention time.Duration
}

// retentions reads the policies' retention from the configuration, or else from
// the records, which were kept for no less, or else takes the default.
func (e *exam) retentions(ctx context.Context) ([]kept, error) {
	if e.options.Config != nil {
		return e.configured()
	}
	var all []kept
	if e.tables != nil {
		share, err := e.sample(ctx)
		if err != nil {
			return nil, err
		}
		err = e.within(ctx, func(tx pgx.Tx) error {
			rows, err := tx.Query(ctx, e.named(retentionSQL), share)
			if err != nil {
				return err
			}
			all, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (k kept, err error) {
				var n int64
				err = row.Scan(&k.what, &n)
				k.retention = micros(n)
				return k, err
			})
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	if len(all) == 0 {
		all = []kept{{"by default", activity.DefaultRetention}}
	}
	return all, nil
}

func (e *exam) configured() ([]kept, error) {
	options, err := e.options.Config.Apply(activity.Options{})
	if err != nil {
		return nil, err
	}
	var all []kept
	for name, p := range options.Policies {
		if p.Off {
			continue
		}
		p.Retention = cmp.Or(p.Retention, activity.DefaultRetention)
		all = append(all, kept{name, p.Retention})
	}
	slices.SortFunc(all, func(a, b kept) int { return strings.Compare(a.what, b.what) })
	return all, nil
}
