/** Writes an organization as HCL for the official provider. A plan against the same server shows no changes. */
import { flagOf, numberOf, objectOf, relatedId, relatedIds, textOf, type WireResource } from "../wire.ts";
import type { CollectedOrganization } from "./collect.ts";
import { block, type HclBody, type HclArgument } from "./hcl.ts";
import { workspaceResources } from "./workspace-resources.ts";
import { reportUnsupportedTerms, retentionResource, tagsOf, variableResource, HclWriter } from "./writer.ts";

export interface HclExport {
  readonly files: ReadonlyMap<string, string>;
  readonly writeOnly: readonly string[];
  /** Settings that the provider has no argument for. */
  readonly unsupported: readonly string[];
}

export function writeResources(collected: CollectedOrganization, hostname: string): HclExport {
  const writer = new HclWriter(textOf(collected.organization, "name") ?? collected.organization.id);
  organizationResources(writer, collected);
  peopleResources(writer, collected);
  connectionResources(writer, collected);
  projectResources(writer, collected);
  workspaceResources(writer, collected);
  poolScopeResources(writer, collected);
  varsetResources(writer, collected);
  const files = new Map([["main.tf", head(hostname)], ...writer.files]);
  return { files, writeOnly: writer.writeOnly, unsupported: writer.unsupported };
}

function head(hostname: string): string {
  const source = { source: "hashicorp/tfe" };
  const required = { attributes: {}, blocks: { required_providers: { attributes: { tfe: source } } } };
  const terraform = { ...required, attributes: { required_version: ">= 1.5.0" } };
  const comment = "# The token comes from TFE_TOKEN, or from 'terraform login'.\n";
  return `${block("terraform", terraform)}\n${comment}${block('provider "tfe"', { attributes: { hostname } })}`;
}

function organizationResources(writer: HclWriter, { organization, retention }: CollectedOrganization): void {
  const { organization: name } = writer;
  const minutes = (attribute: string) => numberOf(organization, attribute) || undefined;
  writer.add("organization.tf", "tfe_organization", name, {
    importId: name,
    id: name,
    body: {
      attributes: {
        name,
        email: textOf(organization, "email"),
        session_timeout_minutes: minutes("session-timeout"),
        session_remember_minutes: minutes("session-remember"),
        collaborator_auth_policy: textOf(organization, "collaborator-auth-policy"),
        owners_team_saml_role_id: textOf(organization, "owners-team-saml-role-id"),
        cost_estimation_enabled: flagOf(organization, "cost-estimation-enabled"),
        send_passing_statuses_for_untriggered_speculative_plans: flagOf(
          organization,
          "send-passing-statuses-for-untriggered-speculative-plans",
        ),
        aggregated_commit_status_enabled: flagOf(organization, "aggregated-commit-status-enabled"),
        speculative_plan_management_enabled: flagOf(organization, "speculative-plan-management-enabled"),
        assessments_enforced: flagOf(organization, "assessments-enforced"),
        allow_force_delete_workspaces: flagOf(organization, "allow-force-delete-workspaces"),
        user_tokens_enabled: flagOf(organization, "user-tokens-enabled"),
      },
    },
  });
  retentionResource(writer, retention, name, name, { organization: name });
}

function peopleResources(writer: HclWriter, { teams, memberships }: CollectedOrganization): void {
  const { organization } = writer;
  for (const team of teams) {
    const name = textOf(team, "name") ?? team.id;
    if (name === "owners") continue;
    const permissions = Object.entries(objectOf(team, "organization-access")).filter(([key]) => isKnown(key));
    if (textOf(team, "description")) writer.unsupported.push(`the description of the team ${name}`);
    writer.add("teams.tf", "tfe_team", name, {
      importId: `${organization}/${team.id}`,
      id: team.id,
      body: {
        attributes: {
          name,
          organization,
          visibility: textOf(team, "visibility"),
          sso_team_id: textOf(team, "sso-team-id"),
          allow_member_token_management: flagOf(team, "allow-member-token-management"),
        },
        blocks: {
          organization_access: {
            attributes: Object.fromEntries(
              permissions.map(([key, value]) => [key.replaceAll("-", "_"), value === true]),
            ),
          },
        },
      },
    });
  }
  for (const membership of memberships) {
    const email = textOf(membership, "email") ?? "";
    writer.add("members.tf", "tfe_organization_membership", email, {
      importId: membership.id,
      id: membership.id,
      body: { attributes: { organization, email } },
    });
  }
  for (const team of teams) {
    const members = memberships.filter((membership) => relatedIds(membership, "teams").includes(team.id));
    if (members.length === 0) continue;
    const ids = writer.refs(members.map(({ id }) => id));
    const attributes = { team_id: writer.ref(team.id), organization_membership_ids: ids };
    writer.add("members.tf", "tfe_team_organization_members", textOf(team, "name") ?? team.id, {
      importId: team.id,
      body: { attributes },
    });
  }
}

const knownPermissions =
  "manage-policies manage-policy-overrides manage-workspaces manage-vcs-settings manage-providers manage-modules manage-run-tasks manage-projects read-workspaces read-projects manage-membership manage-teams manage-organization-access access-secret-teams manage-agent-pools delegate-policy-overrides".split(
    " ",
  );
const isKnown = (permission: string) => knownPermissions.includes(permission);

function connectionResources(
  writer: HclWriter,
  { organization, sshKeys, agentPools, reservedTagKeys, accessRules, accessOffers }: CollectedOrganization,
): void {
  const { organization: name } = writer;
  for (const key of sshKeys)
    writer.writeOnly.push(`the SSH key ${textOf(key, "name")} (${key.id}): it can't be imported`);
  for (const key of reservedTagKeys) writer.unsupported.push(`the reserved tag key ${textOf(key, "key")}`);
  for (const rule of accessRules) writer.unsupported.push(`the access rule ${textOf(rule, "name")}`);
  for (const offer of accessOffers) writer.unsupported.push(`the access offer ${textOf(offer, "name")}`);
  for (const pool of agentPools)
    writer.add("agent-pools.tf", "tfe_agent_pool", textOf(pool, "name") ?? pool.id, {
      importId: pool.id,
      id: pool.id,
      body: {
        attributes: {
          name: textOf(pool, "name"),
          organization: name,
          organization_scoped: flagOf(pool, "organization-scoped"),
        },
      },
    });
  writer.add("organization.tf", "tfe_organization_default_settings", name, {
    importId: name,
    body: {
      attributes: {
        organization: name,
        default_execution_mode: textOf(organization, "default-execution-mode"),
        default_agent_pool_id: writer.ref(relatedId(organization, "default-agent-pool")),
      },
    },
  });
}

const poolScopes = [
  ["allowed-workspaces", "tfe_agent_pool_allowed_workspaces", "allowed_workspace_ids"],
  ["allowed-projects", "tfe_agent_pool_allowed_projects", "allowed_project_ids"],
  ["excluded-workspaces", "tfe_agent_pool_excluded_workspaces", "excluded_workspace_ids"],
] as const;

/** Needs the projects and workspaces that it references. */
function poolScopeResources(writer: HclWriter, { agentPools }: CollectedOrganization): void {
  for (const pool of agentPools)
    for (const [scope, type, argument] of poolScopes) {
      const ids = relatedIds(pool, scope);
      if (ids.length === 0) continue;
      const attributes = { agent_pool_id: writer.ref(pool.id), [argument]: writer.refs(ids) };
      writer.add("agent-pools.tf", type, textOf(pool, "name") ?? pool.id, { importId: pool.id, body: { attributes } });
    }
}

function projectResources(writer: HclWriter, { projects }: CollectedOrganization): void {
  const { organization } = writer;
  for (const { project, access, bindings } of projects) {
    const name = textOf(project, "name") ?? project.id;
    writer.add("projects.tf", "tfe_project", name, {
      importId: project.id,
      id: project.id,
      body: {
        attributes: {
          name,
          organization,
          description: textOf(project, "description"),
          auto_destroy_activity_duration: textOf(project, "auto-destroy-activity-duration"),
          tags: tagsOf(bindings),
        },
      },
    });
    if (objectOf(project, "setting-overwrites")["default-execution-mode"] === true)
      writer.add("projects.tf", "tfe_project_settings", name, {
        importId: project.id,
        body: {
          attributes: {
            project_id: writer.ref(project.id),
            default_execution_mode: textOf(project, "default-execution-mode"),
            default_agent_pool_id: writer.ref(relatedId(project, "default-agent-pool")),
          },
        },
      });
    for (const record of access) projectAccess(writer, name, record);
  }
}

function projectAccess(writer: HclWriter, project: string, record: WireResource): void {
  const level = textOf(record, "access") ?? "";
  const chosen = (attribute: string): HclBody => ({
    attributes: Object.fromEntries(
      Object.entries(objectOf(record, attribute))
        .filter(([permission]) => permission !== "policy-mocks")
        .map(([permission, value]) => [permission.replaceAll("-", "_"), value as HclArgument]),
    ),
  });
  reportUnsupportedTerms(writer, `the access of a team to the project ${project}`, record);
  writer.add("access.tf", "tfe_team_project_access", project, {
    importId: record.id,
    body: {
      attributes: {
        access: level,
        team_id: writer.ref(relatedId(record, "team")),
        project_id: writer.ref(relatedId(record, "project")),
      },
      blocks:
        level === "custom"
          ? { project_access: chosen("project-access"), workspace_access: chosen("workspace-access") }
          : {},
    },
  });
}

function varsetResources(writer: HclWriter, { varsets, workspaces, projects }: CollectedOrganization): void {
  const { organization } = writer;
  const namesOf = new Map([
    ...workspaces.map(({ workspace }) => [workspace.id, textOf(workspace, "name") ?? ""] as const),
    ...projects.map(({ project }) => [project.id, project.id] as const),
  ]);
  for (const { varset, variables } of varsets) {
    const name = textOf(varset, "name") ?? varset.id;
    const owner = relatedId(varset, "parent");
    writer.add("variable-sets.tf", "tfe_variable_set", name, {
      importId: varset.id,
      id: varset.id,
      body: {
        attributes: {
          name,
          organization,
          description: textOf(varset, "description") || undefined,
          global: flagOf(varset, "global"),
          priority: flagOf(varset, "priority"),
          parent_project_id: owner?.startsWith("prj-") ? writer.ref(owner) : undefined,
        },
      },
    });
    for (const variable of variables)
      variableResource(writer, variable, {
        name,
        importId: `${organization}/${varset.id}/${variable.id}`,
        owner: { variable_set_id: writer.ref(varset.id) },
      });
    for (const kind of ["workspace", "project"] as const)
      for (const id of relatedIds(varset, `${kind}s`))
        writer.add("variable-sets.tf", `tfe_${kind}_variable_set`, `${name}_${namesOf.get(id) ?? id}`, {
          importId: `${organization}/${namesOf.get(id) ?? id}/${name}`,
          body: { attributes: { variable_set_id: writer.ref(varset.id), [`${kind}_id`]: writer.ref(id) } },
        });
  }
}
