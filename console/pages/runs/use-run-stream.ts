/** The stream of the run that a page shows: open while the run is executed, and the page's documents read anew when it says so. */
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useEffectEvent, useRef, useState } from "react";
import { isFinal } from "./status.tsx";
import type { RunPlace } from "./status-line.tsx";
import { RunStream } from "./run-stream.ts";

const changing = new Set<unknown>(["GET /runs/{run_id}", "GET /runs/{run_id}/run-events"]);
const finalPhases = ["finished", "errored", "canceled", "unreachable"];

/** What was read so shortly before its stream began is what the stream begins with. */
const freshMs = 1_000;

export function useRunStream(place: RunPlace | undefined, readAt: number): RunStream | undefined {
  const client = useQueryClient();
  const [stream, setStream] = useState<RunStream>();
  const isLive = place !== undefined && !isFinal(place.run.attributes.status);
  const hasEnded = (phase: RunPlace["plan"] | RunPlace["apply"]) =>
    phase !== undefined && finalPhases.includes(phase.attributes.status);
  if (isLive && stream?.runId !== place.run.id)
    setStream(new RunStream(place.run.id, { plan: hasEnded(place.plan), apply: hasEnded(place.apply) }));
  const told = useRef<RunStream>(undefined);
  const changed = useEffectEvent((status?: string) => {
    const isFirst = told.current !== stream;
    told.current = stream;
    const isKnown = isFirst && status === place?.run.attributes.status && Date.now() - readAt < freshMs;
    if (!isKnown) void client.invalidateQueries({ predicate: ({ queryKey: [operation] }) => changing.has(operation) });
  });
  const [planLog, applyLog] = [place?.plan, place?.apply].map((phase) => phase?.attributes["log-read-url"]);
  useEffect(() => {
    if (!isLive || stream === undefined) return;
    stream.start((status) => changed(status));
    return () => stream.stop();
  }, [isLive, stream]);
  useEffect(() => {
    stream?.setAddresses({ plan: planLog, apply: applyLog });
  }, [stream, planLog, applyLog]);
  return stream?.runId === place?.run.id ? stream : undefined;
}
