/** A run: its status and who can act, its plan by resource, its live logs, and its timeline. */
import { Box, Grid, SegmentedControl, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { includedIn, type Resource } from "../../api/client.ts";
import { paths } from "../../paths.ts";
import { useAddress } from "../../ui/address.ts";
import { Page } from "../../ui/page.tsx";
import { QueryContent, dataUnlessDeleted, Empty, LoadingRows } from "../../components/states.tsx";
import { AboutRun, type RunDetails, StatusLine } from "./status-line.tsx";
import { isFinal, RunStatus } from "./status.tsx";
import { LogView } from "./log.tsx";
import { PlanView } from "./plan.tsx";
import { RunActions } from "./run-actions.tsx";
import type { RunStream } from "./run-stream.ts";
import { Timeline } from "./timeline.tsx";
import { useRunStream } from "./use-log.ts";
import { run as runQuery } from "../../api/detail-queries.ts";

export default function RunPage() {
  const {
    organization,
    workspace: name,
    run: id,
  } = useParams({ from: "/inside/$organization/workspaces/$workspace/runs/$run" });
  const query = useQuery(runQuery(id));
  const run = query.data?.data;
  const included = query.data?.included;
  const details: RunDetails | undefined = dataUnlessDeleted(query) &&
    run && {
      organization,
      name,
      run,
      included,
      plan: includedIn({ included }, "plans", run.relationships.plan?.data?.id),
      apply: includedIn({ included }, "applies", run.relationships.apply?.data?.id),
    };
  const stream = useRunStream(details, query.dataUpdatedAt);
  return (
    <Page
      title={run?.attributes.message.split("\n")[0] || id}
      crumbs={[
        { label: organization, to: paths.organization(organization) },
        { label: name, to: paths.workspace(organization, name) },
        { label: "Runs", to: paths.workspaceRuns(organization, name) },
      ]}
      beside={run && <RunStatus status={run.attributes.status} />}
      actions={details && <RunActions details={details} />}
    >
      <QueryContent query={query} loading={<LoadingRows rows={12} />}>
        {() =>
          details && (
            <>
              <StatusLine details={details} />
              <Grid gap="xl">
                <Grid.Col span={{ base: 12, md: 8 }} miw={0}>
                  <RunView details={details} stream={stream} />
                </Grid.Col>
                <Grid.Col span={{ base: 12, md: 4 }} miw={0}>
                  <AboutRun details={details} />
                  <Timeline details={details} />
                </Grid.Col>
              </Grid>
            </>
          )
        }
      </QueryContent>
    </Page>
  );
}

const hasStarted = (phase: Resource<"plans"> | Resource<"applies"> | undefined) =>
  phase !== undefined && !["pending", "queued", "unreachable"].includes(phase.attributes.status);

interface RunViewProps {
  readonly details: RunDetails;
  readonly stream: RunStream | undefined;
}

function RunView({ details: { organization, name, run, plan, apply }, stream }: RunViewProps) {
  const { search, set } = useAddress();
  const isDrawable = plan?.attributes.status === "finished";
  const usual = hasStarted(apply) && !isFinal(run.attributes.status) ? "apply-log" : isDrawable ? "plan" : "plan-log";
  const show = search["show"] ?? (hasStarted(apply) && run.attributes.status === "errored" ? "apply-log" : usual);
  const phase = show === "apply-log" ? apply : plan;
  return (
    <Box>
      <SegmentedControl
        mb="sm"
        aria-label="View"
        value={show}
        onChange={(show) => set({ show, find: undefined, line: undefined, action: undefined })}
        data={[
          { value: "plan", label: "Plan" },
          { value: "plan-log", label: "Plan log" },
          { value: "apply-log", label: "Apply log", disabled: !hasStarted(apply) },
        ]}
      />
      {show === "plan" && plan && isDrawable && <PlanView planId={plan.id} />}
      {show === "plan" && !isDrawable && (
        <Empty title={isFinal(run.attributes.status) ? "No plan" : "No plan yet"}>
          {isFinal(run.attributes.status)
            ? "This run ended before its plan was finished. See the plan log."
            : "The plan appears here when it is finished."}
        </Empty>
      )}
      {show !== "plan" && phase && (
        <LogView
          key={phase.id}
          label={show === "apply-log" ? "Apply log" : "Plan log"}
          source={{
            kind: show === "apply-log" ? "apply" : "plan",
            address: phase.attributes["log-read-url"],
            stream,
            isOver: isFinal(run.attributes.status),
          }}
          linkTo={(line) => paths.run(organization, name, run.id, { show, line: String(line) })}
        />
      )}
      {phase?.attributes["error-message"] && <Text c="var(--change-red)">{phase.attributes["error-message"]}</Text>}
    </Box>
  );
}
