package main

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"time"

	"go.temporal.io/server/common/cluster"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/dynamicconfig"
	"go.temporal.io/server/common/membership/static"
	"go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
	"go.temporal.io/server/common/primitives"
	"go.temporal.io/server/common/testing/freeport"
	sqliteschema "go.temporal.io/server/schema/sqlite"
)

const clusterName = "active"

// dynamicConfig holds what differs from the server's defaults. Standalone
// activities and their operator commands are the parts of the API that servers
// of this version can have switched off. One partition per task queue spares the
// polls that a single busy queue needs to reach four of them.
func dynamicConfig() dynamicconfig.StaticClient {
	client := make(dynamicconfig.StaticClient)
	for key, value := range map[string]any{
		"activity.enableStandalone":                        true,
		"activity.enableCallbacks":                         true,
		"history.enableStandaloneActivityOperatorCommands": true,
		"matching.numTaskqueueReadPartitions":              1,
		"matching.numTaskqueueWritePartitions":             1,
		"system.forceSearchAttributesCacheRefreshOnRead":   true,
		"system.namespaceCacheRefreshInterval":             200 * time.Millisecond,
		"system.namespaceMinRetentionLocal":                time.Second,
	} {
		client[dynamicconfig.MakeKey(key)] = value
	}
	return client
}

// servicePorts are the gRPC ports by service.
type servicePorts map[primitives.ServiceName]int

// frontendAddress splits the -address flag and picks a port for each service.
func frontendAddress(address string) (string, servicePorts, error) {
	host, portText, err := net.SplitHostPort(address)
	if err != nil {
		return "", nil, fmt.Errorf("-address %q: %w", address, err)
	}
	if net.ParseIP(host) == nil {
		return "", nil, fmt.Errorf("-address %q: the host must be an IP address", address)
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return "", nil, fmt.Errorf("-address %q: the port must be a number from 0 to 65535", address)
	}
	if port == 0 {
		port = uint64(freeport.MustGetFreePort())
	}
	return host, servicePorts{
		primitives.FrontendService: int(port),
		primitives.HistoryService:  freeport.MustGetFreePort(),
		primitives.MatchingService: freeport.MustGetFreePort(),
		primitives.WorkerService:   freeport.MustGetFreePort(),
	}, nil
}

// staticHosts names every service's address, so that none has to be found by gossip.
func staticHosts(host string, ports servicePorts) map[primitives.ServiceName]static.Hosts {
	hosts := make(map[primitives.ServiceName]static.Hosts, len(ports))
	for service, port := range ports {
		self := net.JoinHostPort(host, strconv.Itoa(port))
		hosts[service] = static.SingleLocalHost(self)
	}
	return hosts
}

// sqlConfig describes the SQLite database: a private one in memory for an empty file name.
func sqlConfig(file string) *config.SQL {
	if file == "" {
		return &config.SQL{
			PluginName:        sqlite.PluginName,
			DatabaseName:      strconv.FormatUint(rand.Uint64(), 36),
			ConnectAttributes: map[string]string{"mode": "memory", "cache": "shared"},
		}
	}
	return &config.SQL{
		PluginName:        sqlite.PluginName,
		DatabaseName:      file,
		ConnectAttributes: map[string]string{"mode": "rwc"},
	}
}

func serverConfig(host string, ports servicePorts, sql *config.SQL) *config.Config {
	frontend := net.JoinHostPort(host, strconv.Itoa(ports[primitives.FrontendService]))
	services := make(map[string]config.Service, len(ports))
	for service, port := range ports {
		services[string(service)] = config.Service{RPC: config.RPC{GRPCPort: port, BindOnIP: host}}
	}
	off := config.ArchivalNamespaceDefaults{
		History:    config.HistoryArchivalNamespaceDefaults{State: "disabled"},
		Visibility: config.VisibilityArchivalNamespaceDefaults{State: "disabled"},
	}
	return &config.Config{
		Persistence: config.Persistence{
			DefaultStore:     sqlite.PluginName,
			VisibilityStore:  sqlite.PluginName,
			NumHistoryShards: 1,
			DataStores:       map[string]config.DataStore{sqlite.PluginName: {SQL: sql}},
		},
		ClusterMetadata: &cluster.Config{
			FailoverVersionIncrement: 10,
			MasterClusterName:        clusterName,
			CurrentClusterName:       clusterName,
			ClusterInformation: map[string]cluster.ClusterInformation{
				clusterName: {Enabled: true, InitialFailoverVersion: 1, RPCAddress: frontend},
			},
		},
		DCRedirectionPolicy: config.DCRedirectionPolicy{Policy: "noop"},
		Services:            services,
		Archival: config.Archival{
			History:    config.HistoryArchival{State: "disabled"},
			Visibility: config.VisibilityArchival{State: "disabled"},
		},
		PublicClient:      config.PublicClient{HostPort: frontend},
		NamespaceDefaults: config.NamespaceDefaults{Archival: off},
	}
}

// createNamespaces writes the namespaces to the database before the server
// starts, so that they are usable at once; it sets up a new file first.
func createNamespaces(cfg *config.Config, names []string) error {
	sql := cfg.Persistence.DataStores[sqlite.PluginName].SQL
	if sql.ConnectAttributes["mode"] != "memory" {
		if _, err := os.Stat(sql.DatabaseName); os.IsNotExist(err) {
			if err := sqliteschema.SetupSchema(sql); err != nil {
				return fmt.Errorf("-db %s: set up the schema: %w", sql.DatabaseName, err)
			}
		}
	}
	namespaces := make([]*sqliteschema.NamespaceConfig, 0, len(names))
	for _, name := range names {
		namespace, err := sqliteschema.NewNamespaceConfig(clusterName, name, false, nil)
		if err != nil {
			return fmt.Errorf("-namespace %s: %w", name, err)
		}
		namespaces = append(namespaces, namespace)
	}
	if err := sqliteschema.CreateNamespaces(sql, namespaces...); err != nil {
		return fmt.Errorf("create namespaces: %w", err)
	}
	return nil
}
