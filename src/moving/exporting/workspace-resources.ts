/** Writes workspaces as resources of the official provider. */
import { flagOf, isObject, objectOf, relatedId, textOf, type WireResource } from "../wire.ts";
import type { CollectedOrganization, CollectedWorkspace } from "./collect.ts";
import type { HclBody, HclArgument } from "./hcl.ts";
import {
  ignoring,
  reportUnsupportedTerms,
  retentionResource,
  tagsOf,
  variableResource,
  type HclWriter,
} from "./writer.ts";

export function workspaceResources(writer: HclWriter, { workspaces }: CollectedOrganization): void {
  for (const collected of workspaces) workspaceResource(writer, collected);
  // Must come after all workspaces, which these resources reference.
  for (const collected of workspaces) {
    settingsResource(writer, collected);
    childResources(writer, collected);
  }
}

const texts = (thing: WireResource, name: string): string[] | undefined => {
  const value = thing.attributes[name];
  const list = Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];
  return list.length === 0 ? undefined : list;
};

function workspaceResource(writer: HclWriter, { workspace, bindings }: CollectedWorkspace): void {
  const name = textOf(workspace, "name") ?? workspace.id;
  const flag = (attribute: string) => flagOf(workspace, attribute);
  const isOwn = workspace.attributes["inherits-project-auto-destroy"] === false;
  const duration = isOwn ? textOf(workspace, "auto-destroy-activity-duration") : undefined;
  const sourceFields = [textOf(workspace, "source-name"), textOf(workspace, "source-url")];
  // The provider requires both or neither.
  const isIncompleteSource = sourceFields.filter((field) => field !== undefined).length === 1;
  if (textOf(workspace, "engine") !== undefined) writer.unsupported.push(`the engine of the workspace ${name}`);
  writer.add("workspaces.tf", "tfe_workspace", name, {
    importId: workspace.id,
    id: workspace.id,
    body: {
      attributes: {
        name,
        organization: writer.organization,
        project_id: writer.ref(relatedId(workspace, "project")),
        description: textOf(workspace, "description"),
        allow_destroy_plan: flag("allow-destroy-plan"),
        auto_apply: flag("auto-apply"),
        auto_apply_run_trigger: flag("auto-apply-run-trigger"),
        assessments_enabled: flag("assessments-enabled") || undefined,
        auto_destroy_activity_duration: duration,
        // The provider accepts only one of the two, and times without milliseconds.
        auto_destroy_at: isOwn && !duration ? textOf(workspace, "auto-destroy-at")?.replace(/\.\d+Z$/, "Z") : undefined,
        file_triggers_enabled: flag("file-triggers-enabled"),
        queue_all_runs: flag("queue-all-runs"),
        source_name: isIncompleteSource ? undefined : sourceFields[0],
        source_url: isIncompleteSource ? undefined : sourceFields[1],
        speculative_enabled: flag("speculative-enabled"),
        ssh_key_id: relatedId(workspace, "ssh-key"),
        structured_run_output_enabled: flag("structured-run-output-enabled"),
        tag_names: texts(workspace, "tag-names"),
        tags: tagsOf(bindings),
        terraform_version: textOf(workspace, "terraform-version"),
        trigger_prefixes: texts(workspace, "trigger-prefixes"),
        trigger_patterns: texts(workspace, "trigger-patterns"),
        working_directory: textOf(workspace, "working-directory"),
        // With global remote state the provider imports no value, and would then plan a change.
        remote_state_consumer_ids: flag("global-remote-state") ? [] : undefined,
      },
      blocks: {
        vcs_repo: repositoryOf(workspace),
        lifecycle: isIncompleteSource ? ignoring("source_name", "source_url") : undefined,
      },
    },
  });
}

function repositoryOf(workspace: WireResource): HclBody | undefined {
  const repository = workspace.attributes["vcs-repo"];
  if (!isObject(repository)) return undefined;
  const text = (name: string) => (typeof repository[name] === "string" ? repository[name] || undefined : undefined);
  return {
    attributes: {
      identifier: text("identifier"),
      branch: text("branch"),
      ingress_submodules: repository["ingress-submodules"] === true,
      oauth_token_id: text("oauth-token-id"),
      github_app_installation_id: text("github-app-installation-id"),
      tags_regex: text("tags-regex"),
    },
  };
}

function settingsResource(writer: HclWriter, { workspace, consumers }: CollectedWorkspace): void {
  const name = textOf(workspace, "name") ?? workspace.id;
  const own = objectOf(workspace, "setting-overwrites")["execution-mode"] === true;
  const mode = textOf(workspace, "execution-mode");
  writer.add("workspaces.tf", "tfe_workspace_settings", name, {
    importId: workspace.id,
    body: {
      attributes: {
        workspace_id: writer.ref(workspace.id),
        execution_mode: own ? mode : undefined,
        agent_pool_id: own && mode === "agent" ? writer.ref(relatedId(workspace, "agent-pool")) : undefined,
        global_remote_state: flagOf(workspace, "global-remote-state"),
        project_remote_state: flagOf(workspace, "project-remote-state"),
        remote_state_consumer_ids: consumers.length === 0 ? undefined : writer.refs(consumers.map(({ id }) => id)),
      },
    },
  });
}

function childResources(writer: HclWriter, collected: CollectedWorkspace): void {
  const { workspace, variables, access, triggers, retention } = collected;
  const { organization } = writer;
  const name = textOf(workspace, "name") ?? workspace.id;
  const workspace_id = writer.ref(workspace.id);
  for (const variable of variables)
    variableResource(writer, variable, {
      name,
      importId: `${organization}/${name}/${variable.id}`,
      owner: { workspace_id },
    });
  for (const record of access) workspaceAccess(writer, name, record);
  for (const trigger of triggers) {
    const attributes = { workspace_id, sourceable_id: writer.ref(relatedId(trigger, "sourceable")) };
    writer.add("run-triggers.tf", "tfe_run_trigger", name, { importId: trigger.id, body: { attributes } });
  }
  retentionResource(writer, retention, name, `${organization}/${name}`, { workspace_id });
}

const permissions = [
  "runs",
  "variables",
  "state-versions",
  "sentinel-mocks",
  "workspace-locking",
  "run-tasks",
] as const;

function workspaceAccess(writer: HclWriter, workspace: string, record: WireResource): void {
  const level = textOf(record, "access") ?? "";
  const isCustom = level === "custom";
  const chosen = Object.fromEntries(
    permissions.map((permission) => [permission.replaceAll("-", "_"), record.attributes[permission] as HclArgument]),
  );
  reportUnsupportedTerms(writer, `the access of a team to the workspace ${workspace}`, record);
  writer.add("access.tf", "tfe_team_access", workspace, {
    importId: `${writer.organization}/${workspace}/${record.id}`,
    body: {
      attributes: {
        access: isCustom ? undefined : level,
        team_id: writer.ref(relatedId(record, "team")),
        workspace_id: writer.ref(relatedId(record, "workspace")),
      },
      blocks: isCustom ? { permissions: { attributes: chosen } } : {},
    },
  });
}
