// Package conformance imports the client whose tests we run, so that go.mod and go.sum are complete. It calls nothing.
package conformance

import _ "github.com/hashicorp/go-tfe"
