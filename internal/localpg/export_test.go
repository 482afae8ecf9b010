package localpg

// NewestBinDir opens the search of directories to tests.
var NewestBinDir = newestBinDir
