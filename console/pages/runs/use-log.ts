/** Hooks for a run's stream and logs. */
import { useEffect, useEffectEvent, useState, useSyncExternalStore, useRef } from "react";
import type { LogLine } from "./log-lines.ts";
import { type LogKind, LogReading, RunStream } from "./run-stream.ts";
import { useQueryClient } from "@tanstack/react-query";
import { isFinal } from "./status.tsx";
import type { RunDetails } from "./status-line.tsx";

const pauseMs = 3_000;

export interface Log {
  readonly lines: readonly LogLine[];
  readonly dropped: number;
  readonly hasEnded: boolean;
  readonly isPaused: boolean;
  readonly readOn: () => void;
  readonly error: unknown;
}

export interface LogSource {
  readonly kind: LogKind;
  readonly address: string;
  readonly stream: RunStream | undefined;
  readonly isOver: boolean;
}

const never = () => () => {};
const noRevision = () => 0;

export function useLog({ kind, address, stream, isOver }: LogSource, line: number | undefined): Log {
  const [isGoingOn, setGoingOn] = useState(line === undefined);
  useSyncExternalStore(stream?.subscribe ?? never, stream?.revision ?? noRevision);
  const streamed = stream?.logs[kind];
  // If a run ends before the last lines were polled, the log is read from its start.
  const isStreamed = streamed !== undefined && (!isOver || streamed.lines.hasEnded);
  const keptLine = isGoingOn ? undefined : line;
  const read = useReading(address, { isNeeded: !isStreamed, keptLine });
  const log = isStreamed ? streamed : read.log;
  useEffect(() => log.keep(keptLine), [log, keptLine]);
  return {
    lines: log.lines.lines,
    dropped: log.lines.dropped,
    hasEnded: log.lines.hasEnded,
    isPaused: log.isPaused,
    readOn: () => {
      setGoingOn(true);
      if (isStreamed) stream?.readOn(kind);
    },
    error: isStreamed ? undefined : read.error,
  };
}

interface ReadingOptions {
  readonly isNeeded: boolean;
  readonly keptLine: number | undefined;
}

function useReading(address: string, { isNeeded, keptLine }: ReadingOptions) {
  const [log] = useState(() => new LogReading());
  const newestAddress = useEffectEvent(() => address);
  const [, setRevision] = useState(0);
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    if (!isNeeded) return;
    const stopped = new AbortController();
    log.keep(keptLine);
    const step = async (): Promise<boolean> => {
      const hasMore = await log.readPiece(newestAddress(), stopped.signal);
      setError(undefined);
      setRevision((revision) => revision + 1);
      return hasMore;
    };
    const follow = async () => {
      while (!stopped.signal.aborted && !log.lines.hasEnded && !log.isPaused) {
        const hasMore = await step().catch((failure: unknown) => {
          if (!stopped.signal.aborted) setError(failure);
          return false;
        });
        if (!hasMore && !log.lines.hasEnded) await new Promise((resolve) => setTimeout(resolve, pauseMs));
      }
    };
    void follow();
    return () => stopped.abort();
  }, [log, isNeeded, keptLine]);
  return { log, error };
}

const changing = new Set<unknown>(["GET /runs/{run_id}", "GET /runs/{run_id}/run-events"]);
const finalPhases = ["finished", "errored", "canceled", "unreachable"];

/** The stream starts with a document this recent. */
const freshMs = 1_000;

export function useRunStream(details: RunDetails | undefined, readAt: number): RunStream | undefined {
  const client = useQueryClient();
  const [stream, setStream] = useState<RunStream>();
  const isLive = details !== undefined && !isFinal(details.run.attributes.status);
  const hasEnded = (phase: RunDetails["plan"] | RunDetails["apply"]) =>
    phase !== undefined && finalPhases.includes(phase.attributes.status);
  if (isLive && stream?.runId !== details.run.id)
    setStream(new RunStream(details.run.id, { plan: hasEnded(details.plan), apply: hasEnded(details.apply) }));
  const startedStream = useRef<RunStream>(undefined);
  const changed = useEffectEvent((status?: string) => {
    const isFirst = startedStream.current !== stream;
    startedStream.current = stream;
    const isKnown = isFirst && status === details?.run.attributes.status && Date.now() - readAt < freshMs;
    if (!isKnown) void client.invalidateQueries({ predicate: ({ queryKey: [operation] }) => changing.has(operation) });
  });
  const [planLog, applyLog] = [details?.plan, details?.apply].map((phase) => phase?.attributes["log-read-url"]);
  useEffect(() => {
    if (!isLive || stream === undefined) return;
    stream.start((status) => changed(status));
    return () => stream.stop();
  }, [isLive, stream]);
  useEffect(() => {
    stream?.setAddresses({ plan: planLog, apply: applyLog });
  }, [stream, planLog, applyLog]);
  return stream?.runId === details?.run.id ? stream : undefined;
}
