/** What a run waits for, and who can act. */
import { Paper, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { asking } from "../../api/queries.ts";
import type { RunPlace } from "./place.ts";
import { makerOf } from "./list.tsx";

export function StatusLine({ place }: { readonly place: RunPlace }) {
  const said = sentenceOf(place);
  const needsSomebody = place.run.attributes.actions["is-confirmable"] === true;
  if (said === undefined) return null;
  return (
    <Paper withBorder p="sm" mb="md" role="status">
      <Text>
        {said} {needsSomebody && <WhoCan place={place} />}
      </Text>
    </Paper>
  );
}

function sentenceOf({ run, plan, apply, included }: RunPlace): string | undefined {
  const { status, "waiting-for": waits, "plan-only": isOnlyPlan } = run.attributes;
  if (waits !== null) return `${waits}${placeInQueue(run.attributes["position-in-queue"])}`;
  if (run.attributes.actions["is-confirmable"]) return "Waits for somebody to confirm the plan, or to discard it.";
  switch (status) {
    case "fetching":
      return "Its configuration is on its way.";
    case "planning":
      return `Is planned ${executedBy(plan)}.`;
    case "applying":
      return `Is applied ${executedBy(apply)}.`;
    case "planned_and_finished":
      return isOnlyPlan
        ? "Was to plan only; there is nothing to confirm."
        : "Nothing is to change, so there is nothing to apply.";
    case "errored":
      return plan?.attributes["error-message"] ?? apply?.attributes["error-message"] ?? "Failed; its log tells why.";
    case "discarded":
      return "The plan was discarded.";
    case "canceled":
    case "force_canceled":
      return "Was canceled.";
    case "applied":
      return `Applied. It was started by ${makerOf(run, included)}.`;
    default:
      return undefined;
  }
}

const placeInQueue = (place: number) => (place > 0 ? ` It is number ${place} in the organization's queue.` : "");

function executedBy(phase: RunPlace["plan"] | RunPlace["apply"]): string {
  const name = phase?.attributes["execution-details"]["agent-name"];
  return typeof name === "string" ? `by ${name}` : "now";
}

/** Those who hold the permission, for whoever may know them. */
function WhoCan({ place: { organization, run } }: { readonly place: RunPlace }) {
  const mine = run.attributes.permissions["can-apply"];
  const query = useQuery({
    ...asking("GET /organizations/{organization_name}/access-holders", {
      path: { organization_name: organization },
      query: {
        "filter[permission]": "can-queue-apply",
        "filter[workspace][id]": run.relationships.workspace?.data?.id,
        "page[size]": 8,
      },
    }),
    retry: false,
  });
  const teams = (query.data?.data ?? []).filter(({ attributes }) => attributes.kind === "team");
  const names = teams.map(({ attributes }) => attributes.name).join(", ");
  const others = names === "" ? undefined : `${teams.length === 1 ? "the team" : "the teams"} ${names}`;
  if (mine) return <>You can{others && `, and so can ${others}`}.</>;
  return (
    <>You can't: that needs ‘apply’ on the workspace's runs. {others ? `Ask ${others}.` : "Ask somebody who has it."}</>
  );
}
