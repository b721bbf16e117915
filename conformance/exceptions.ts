/**
 * The Go client's tests that we don't run: a whole test, or one subtest of it, each with the reason. The list may only shrink:
 * a test that fails and is not here fails the run.
 */
import type { Edition } from "./server.ts";

export interface Exception {
  /** A test, or a subtest as Go writes it: `TestTeamsRead/with_scim_attributes`. */
  readonly test: string;
  /** A sentence for docs/reference/conformance-*.md. */
  readonly reason: string;
  /** Only in this edition. */
  readonly edition?: Edition;
  /** Only with this version of the CLI. */
  readonly terraform?: string;
}

const estimates = "It expects cost estimates, which the service does not have.";
const registry =
  "It creates a configuration version for a module in the private registry, which the service does not have.";
const scim =
  "It enables SAML and SCIM for the installation and maps a SCIM group to a team; the service uses OpenID Connect and has neither SAML nor SCIM.";

const features =
  "It expects entitlements to cost estimation, a module registry, Sentinel, Waypoint and Infragraph; the service has none of them, and its entitlements say so.";
const modules =
  "It expects permissions on no-code modules; the service has no module registry, and shows only permissions that have an effect.";

const first = "It expects one workspace to be first in the list, but its workspaces have random names.";

export const exceptions: readonly Exception[] = [
  {
    test: "TestOAuthClientsReadWithOptions",
    reason: "It assigns a project of another organization to a connection, which the service refuses.",
  },
  {
    test: "TestOAuthClientsCreate_agentPool/with_an_invalid_agent_pool",
    reason:
      "It expects connections through an agent pool; the service calls providers directly, and a connection has no pool.",
  },
  { test: "TestWorkspacesList_RunDependent/with_current-state-version,current-run_included", reason: first },
  { test: "TestRunsRead_CostEstimate_RunDependent", reason: estimates },
  { test: "TestConfigurationVersionsCreateForRegistryModule", reason: registry },
  { test: "TestOrganizationsReadEntitlements/when_the_org_exists", reason: features },
  {
    test: "TestOrganizationsReadRunTasksEntitlement",
    reason: "It expects run tasks, which the service does not have.",
  },
  {
    test: "TestOrganizationsReadWithBusiness/when_the_org_exists/permissions_are_properly_decoded",
    reason: modules,
  },
  { test: "TestTeamsRead/with_scim_attributes", reason: scim },
  { test: "TestUsersReadCurrent/with_scim_attributes", reason: scim },
];
