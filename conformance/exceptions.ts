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

const estimates = "It expects cost estimates of runs; the service makes none.";
const registry =
  "It makes a configuration version of a module of the private registry, which the service does not have.";
const scim =
  "It switches on SAML and SCIM for the whole installation and maps a SCIM group to a team; the service signs people in with OpenID Connect, and has neither SAML nor SCIM.";

const features =
  "It expects cost estimation, a module registry, Sentinel, Waypoint and Infragraph; the service has none of them and says so.";
const modules =
  "It expects permissions on no-code modules; the service has no registry of modules, and a document promises only what a request gets.";

const first =
  "It looks for the state and the run of one workspace at the first of the list, whichever that is: its workspaces have random names.";

export const exceptions: readonly Exception[] = [
  {
    test: "TestOAuthClientsReadWithOptions",
    reason: "It gives a connection a project of another organization, which the service refuses.",
  },
  {
    test: "TestOAuthClientsCreate_agentPool/with_an_invalid_agent_pool",
    reason:
      "It expects connections that are reached by way of an agent pool; the service calls providers itself, and a connection has no pool.",
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
