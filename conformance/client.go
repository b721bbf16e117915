// Package conformance names the client whose own tests we run, so that go.mod and go.sum are complete. Nothing is called.
package conformance

import _ "github.com/hashicorp/go-tfe"
