/** The settings of a workspace as a form holds them, and what of them is sent. Pure. */
import type { Resource } from "../../api/client.ts";

export interface Settings {
  readonly name: string;
  readonly description: string;
  /** Empty where the default of the project or organization is followed. */
  readonly "execution-mode": string;
  readonly "agent-pool-id": string;
  readonly engine: string;
  readonly "engine-version": string;
  readonly "working-directory": string;
  readonly "auto-apply": boolean;
  readonly "auto-apply-run-trigger": boolean;
  readonly "allow-destroy-plan": boolean;
  readonly "structured-run-output-enabled": boolean;
  readonly "queue-all-runs": boolean;
  readonly "speculative-enabled": boolean;
  readonly "file-triggers-enabled": boolean;
  readonly "trigger-prefixes": string[];
  readonly "trigger-patterns": string[];
  readonly "inherits-project-auto-destroy": boolean;
  readonly "auto-destroy-activity-duration": string;
  /** An instant; empty where there is none. */
  readonly "auto-destroy-at": string;
}

export function settingsOf({ attributes, relationships }: Resource<"workspaces">): Settings {
  const isOwn = attributes["setting-overwrites"]["execution-mode"] === true;
  return {
    name: attributes.name,
    description: attributes.description ?? "",
    "execution-mode": isOwn ? attributes["execution-mode"] : "",
    "agent-pool-id": (isOwn ? relationships["agent-pool"]?.data?.id : undefined) ?? "",
    engine: attributes.engine ?? "",
    "engine-version": attributes["engine-version"],
    "working-directory": attributes["working-directory"] ?? "",
    "auto-apply": attributes["auto-apply"],
    "auto-apply-run-trigger": attributes["auto-apply-run-trigger"],
    "allow-destroy-plan": attributes["allow-destroy-plan"],
    "structured-run-output-enabled": attributes["structured-run-output-enabled"],
    "queue-all-runs": attributes["queue-all-runs"],
    "speculative-enabled": attributes["speculative-enabled"],
    "file-triggers-enabled": attributes["file-triggers-enabled"],
    "trigger-prefixes": [...attributes["trigger-prefixes"]],
    "trigger-patterns": [...attributes["trigger-patterns"]],
    "inherits-project-auto-destroy": attributes["inherits-project-auto-destroy"],
    "auto-destroy-activity-duration": attributes["inherits-project-auto-destroy"]
      ? ""
      : (attributes["auto-destroy-activity-duration"] ?? ""),
    "auto-destroy-at": attributes["auto-destroy-at"] ?? "",
  };
}

/** Empty is null where nothing is a value of its own. */
const nullable = ["description", "engine", "working-directory", "auto-destroy-activity-duration"] as const;

/** Only what was changed; what belongs together goes together. */
export function attributesOf(changes: Partial<Settings>, whole: Settings): Record<string, unknown> {
  const { "execution-mode": mode, "agent-pool-id": pool, "auto-destroy-at": at, ...rest } = changes;
  const sent: Record<string, unknown> = { ...rest };
  for (const name of nullable) if (sent[name] === "") sent[name] = null;
  if (mode !== undefined || pool !== undefined) Object.assign(sent, executionOf(whole));
  if (at !== undefined) sent["auto-destroy-at"] = at === "" ? null : at;
  // One of the two lists is in force: the other one is emptied.
  if (rest["trigger-patterns"]?.length) sent["trigger-prefixes"] = [];
  if (rest["inherits-project-auto-destroy"] === true) {
    delete sent["auto-destroy-activity-duration"];
    delete sent["auto-destroy-at"];
  }
  return sent;
}

function executionOf({ "execution-mode": mode, "agent-pool-id": pool }: Settings): object {
  if (mode === "") return { "setting-overwrites": { "execution-mode": false, "agent-pool": false } };
  return { "execution-mode": mode, ...(mode === "agent" && { "agent-pool-id": pool }) };
}
