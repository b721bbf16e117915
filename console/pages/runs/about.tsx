/** The facts of a run, and what its parts are shown with. */
import { Text } from "@mantine/core";
import { includedIn, type Resource } from "../../api/client.ts";
import { Facts } from "../../ui/facts.tsx";
import { Section } from "../../ui/page.tsx";
import { Identifier, When } from "../../ui/text.tsx";
import { engineNames } from "../workspace/place.ts";
import { Counts } from "./counts.tsx";
import { kindOf, makerOf } from "./list.tsx";

export function AboutRun({ place: { run, plan, apply, included } }: { readonly place: RunPlace }) {
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
      <Facts
        label="About this run"
        facts={{
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

export interface RunPlace {
  readonly organization: string;
  readonly name: string;
  readonly run: Resource<"runs">;
  readonly plan: Resource<"plans"> | undefined;
  readonly apply: Resource<"applies"> | undefined;
  readonly included: readonly any[] | undefined;
}
