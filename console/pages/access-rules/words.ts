/** Labels of enforcements, and the policy of a new rule. */
import type { Attributes } from "../../api/client.ts";

export type Enforcement = Attributes<"access-rules">["enforcement"];

export const enforcementWords: Readonly<Record<Enforcement, { readonly label: string; readonly about: string }>> = {
  forbid: { label: "Forbid", about: "Refuse the change. Approved requests are refused, too." },
  approval: { label: "Require approval", about: "Refuse the change, unless it is made by an approved access request." },
  advise: { label: "Advise", about: "Allow the change, and show the message." },
};

export const enforcements = Object.keys(enforcementWords) as readonly Enforcement[];

export const firstPolicy = `@message("Access to production expires within a week.")
forbid (principal, action in [Action::"grant", Action::"update"], resource is Workspace)
when { resource.hasTag("env") && resource.getTag("env") == "prod" }
unless { context has expiresInSeconds && context.expiresInSeconds <= 604800 };
`;
