package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/exporters/stdout/stdouttrace"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/trace"
)

// signals are the providers that the plugin is given, and where they lead.
type signals struct {
	meters  *metric.MeterProvider
	tracers *trace.TracerProvider
	address string // of the metrics
	server  *http.Server
	served  chan struct{}
}

// openTelemetry makes the providers: metrics for Prometheus to read, spans for a
// collector or the terminal.
func openTelemetry(ctx context.Context, o options, stdout io.Writer) (*signals, error) {
	registry := prometheus.NewRegistry()
	exporter, err := otelprometheus.New(otelprometheus.WithRegisterer(registry), otelprometheus.WithoutScopeInfo())
	if err != nil {
		return nil, fmt.Errorf("observability: metrics: %w", err)
	}
	s := &signals{meters: metric.NewMeterProvider(metric.WithReader(exporter)), served: make(chan struct{})}
	var spans []trace.TracerProviderOption
	if o.otlp != "" {
		// One process on this machine to another: no certificate.
		e, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpoint(o.otlp), otlptracehttp.WithInsecure())
		if err != nil {
			return nil, fmt.Errorf("observability: spans: %w", err)
		}
		spans = append(spans, trace.WithBatcher(e))
	}
	if o.spans {
		e, err := stdouttrace.New(stdouttrace.WithWriter(stdout), stdouttrace.WithPrettyPrint())
		if err != nil {
			return nil, fmt.Errorf("observability: spans: %w", err)
		}
		spans = append(spans, trace.WithSyncer(e))
	}
	s.tracers = trace.NewTracerProvider(spans...)

	listener, err := net.Listen("tcp", o.metricsAddress)
	if err != nil {
		return nil, fmt.Errorf("observability: -metrics-address: %w", err)
	}
	s.address = listener.Addr().String()
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	s.server = &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go func() {
		defer close(s.served)
		_ = s.server.Serve(listener) // ends with the error that Close causes
	}()
	return s, nil
}

// close sends what is left of the spans.
func (s *signals) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_ = s.tracers.Shutdown(ctx)
	_ = s.meters.Shutdown(ctx)
	_ = s.server.Close()
	<-s.served
}

// scrape reads the metrics as Prometheus does.
func (s *signals) scrape(ctx context.Context) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.address+"/metrics", nil)
	if err != nil {
		return "", fmt.Errorf("observability: scrape: %w", err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		return "", fmt.Errorf("observability: scrape: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	return string(text), err
}

// print shows the counters that are not zero, once the evictor has counted the
// records that are held.
func (s *signals) print(ctx context.Context, out io.Writer, held int) error {
	text := ""
	for try := 0; try < 300; try++ {
		var err error
		if text, err = s.scrape(ctx); err != nil {
			return err
		}
		if value(text, "dedupe_held") >= float64(held) {
			break
		}
		if !pause(ctx, 100*time.Millisecond) {
			return ctx.Err()
		}
	}
	for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); {
		line := lines.Text()
		if strings.HasPrefix(line, "dedupe_") && !strings.Contains(line, "_seconds") && !strings.HasSuffix(line, " 0") {
			_, _ = fmt.Fprintln(out, line)
		}
	}
	return nil
}

// value reads a metric that has no labels; -1 while there is none.
func value(text, name string) float64 {
	_, after, found := strings.Cut(text, "\n"+name+" ")
	line, _, _ := strings.Cut(after, "\n")
	v, err := strconv.ParseFloat(line, 64)
	if !found || err != nil {
		return -1
	}
	return v
}
