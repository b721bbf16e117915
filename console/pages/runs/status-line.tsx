/** A run's status line and details, and the props that its parts share. */
import { Paper, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { apiQuery } from "../../api/queries.ts";
import { RequestAccess } from "../../components/request-access.tsx";
import { counted, listed, Identifier, When } from "../../ui/text.tsx";
import { makerOf, kindOf } from "./list.tsx";
import { includedIn, type Resource } from "../../api/client.ts";
import { DescriptionList, Section } from "../../ui/page.tsx";
import { engineNames } from "../workspace/details.ts";
import { Counts } from "./counts.tsx";

export function StatusLine({ details }: { readonly details: RunDetails }) {
  const sentence = sentenceOf(details);
  const needsConfirmation = details.run.attributes.actions["is-confirmable"] === true;
  if (sentence === undefined) return null;
  return (
    <Paper withBorder p="sm" mb="md" role="status">
      <Text>
        {sentence} {needsConfirmation && <ConfirmingTeams details={details} />}
      </Text>
    </Paper>
  );
}

function sentenceOf({ run, plan, apply, included }: RunDetails): string | undefined {
  const { status, "waiting-for": waits, "plan-only": isOnlyPlan } = run.attributes;
  if (waits !== null) return `${waits}${positionInQueue(run.attributes["position-in-queue"])}`;
  if (run.attributes.actions["is-confirmable"]) return "Waiting for confirmation.";
  switch (status) {
    case "fetching":
      return "Fetching configuration…";
    case "planning":
      return `Planning${onAgent(plan)}…`;
    case "applying":
      return `Applying${onAgent(apply)}…`;
    case "planned_and_finished":
      return isOnlyPlan ? "Plan only. There is nothing to confirm." : "No changes. There is nothing to apply.";
    case "errored":
      return plan?.attributes["error-message"] ?? apply?.attributes["error-message"] ?? "The run failed. See the log.";
    case "discarded":
      return "The plan was discarded.";
    case "canceled":
    case "force_canceled":
      return "The run was canceled.";
    case "applied":
      return `Applied. Started by ${makerOf(run, included)}.`;
    default:
      return undefined;
  }
}

const positionInQueue = (position: number) =>
  position > 0 ? ` Position ${position} in the organization's queue.` : "";

function onAgent(phase: RunDetails["plan"] | RunDetails["apply"]): string {
  const name = phase?.attributes["execution-details"]["agent-name"];
  return typeof name === "string" ? ` on ${name}` : "";
}

const namedMax = 8;

/** Every reader of the workspace can request these teams. */
function ConfirmingTeams({ details: { run } }: { readonly details: RunDetails }) {
  const mine = run.attributes.permissions["can-apply"];
  const query = useQuery({
    ...apiQuery("GET /workspaces/{workspace_id}/team-access", {
      path: { workspace_id: run.relationships.workspace?.data?.id },
      query: { "page[size]": 100 },
    }),
    retry: false,
  });
  const teams = (query.data?.data ?? []).filter(({ attributes }) => attributes.can["can-queue-apply"]);
  const names = teams.map(({ attributes }) => attributes["subject-name"]);
  const rest = names.length - namedMax;
  const others = listed([...names.slice(0, namedMax), ...(rest > 0 ? [counted(rest, "more team")] : [])]);
  if (mine) return `You can confirm or discard this plan${others && `; so can ${others}`}.`;
  const needed = "You can't confirm this plan: you need permission to apply runs in this workspace.";
  return (
    <>
      {others === "" ? needed : `${needed} Ask ${others}.`} <RequestAccess size="compact-xs" />
    </>
  );
}

export function AboutRun({ details: { run, plan, apply, included } }: { readonly details: RunDetails }) {
  const { attributes } = run;
  const commit = included?.find(({ type }) => type === "ingress-attributes")?.["attributes"];
  const confirmer = run.relationships["confirmed-by"]?.data;
  const confirmed = confirmer && (includedIn({ included }, confirmer.type, confirmer.id) as any);
  const more = attributes.message.split("\n").slice(1).join("\n").trim();
  return (
    <Section title="About">
      {more !== "" && (
        <Text fz="sm" style={{ whiteSpace: "pre-wrap" }}>
          {more}
        </Text>
      )}
      <DescriptionList
        label="About this run"
        items={{
          Type: kindOf(run),
          Plan: <Counts phase={plan} />,
          Applied: apply?.attributes.status === "finished" && <Counts phase={apply} />,
          Started: (
            <>
              by {makerOf(run, included)}, <When time={attributes["created-at"]} />
            </>
          ),
          Confirmed: confirmed && `by ${confirmed.attributes.username ?? confirmed.attributes.name}`,
          Engine: `${engineNames[attributes.engine] ?? attributes.engine} ${attributes["engine-version"]}`,
          Apply: attributes["auto-apply"] ? "automatic" : !attributes["plan-only"] && "manual",
          Targets: attributes["target-addrs"]?.length && attributes["target-addrs"].join(", "),
          Replaces: attributes["replace-addrs"]?.length && attributes["replace-addrs"].join(", "),
          Commit: commit?.["commit-sha"] && <code>{String(commit["commit-sha"]).slice(0, 10)}</code>,
          "Force cancel": attributes["force-cancel-available-at"] && (
            <>
              available <When time={attributes["force-cancel-available-at"]} />
            </>
          ),
          ID: <Identifier value={run.id} />,
        }}
      />
    </Section>
  );
}

export interface RunDetails {
  readonly organization: string;
  readonly name: string;
  readonly run: Resource<"runs">;
  readonly plan: Resource<"plans"> | undefined;
  readonly apply: Resource<"applies"> | undefined;
  readonly included: readonly any[] | undefined;
}
