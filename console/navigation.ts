/** The navigation of an organization, by topic: in the sidebar and in the Ctrl-K palette. */
import type { Attributes } from "./api/client.ts";
import { paths } from "./paths.ts";

export type Rights = Attributes<"organizations">["permissions"] | undefined;

export const navigationOf = (organization: string, rights: Rights): [string, [string, string][]][] => [
  [
    "Infrastructure",
    [
      ["Overview", paths.organization(organization)],
      ["Workspaces", paths.workspaces(organization)],
      ["Projects", paths.projects(organization)],
      ["Runs", paths.runs(organization)],
      ["Resources", paths.resources(organization)],
      ["Tags", paths.tags(organization)],
      ["Variable sets", paths.variableSets(organization)],
    ],
  ],
  [
    "Access",
    [
      ["Who has access", paths.holders(organization)],
      ["Requests", paths.accessRequests(organization)],
      ["Teams", paths.teams(organization)],
      ["People", paths.people(organization)],
      ["Offers", paths.accessOffers(organization)],
      ...(rights?.["can-update"] ? [["Rules", paths.accessRules(organization)] as [string, string]] : []),
      ["Tokens", paths.tokens(organization)],
      ...(rights?.["can-create-team"]
        ? [["Identity trusts", paths.identityTrusts(organization)] as [string, string]]
        : []),
      ...(rights?.["can-manage-auditing"] ? [["Audit log", paths.audit(organization)] as [string, string]] : []),
    ],
  ],
  [
    "Connections",
    [
      ...(rights?.["can-update-oauth"] || rights?.["can-create-workspace"]
        ? ([
            ["Version control", paths.connections(organization)],
            ["Repository events", paths.repositoryEvents(organization)],
          ] satisfies [string, string][])
        : []),
      ["SSH keys", paths.sshKeys(organization)],
      ["Agent pools", paths.agentPools(organization)],
    ],
  ],
  ["Organization", [["Settings", paths.organizationSettings(organization)]]],
];
