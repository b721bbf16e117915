/** A log: live, coloured, searchable, with a link for each line. Only the lines in view are rendered. */
import { ActionIcon, Box, Button, Group, Text, VisuallyHidden } from "@mantine/core";
import { IconArrowDown, IconArrowUp } from "@tabler/icons-react";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useMemo, useRef, useState, type MouseEvent } from "react";
import { useAddress } from "../../ui/address.ts";
import { prefix } from "../../ui/link.tsx";
import { SearchInput } from "../../ui/inputs.tsx";
import { ErrorMessage } from "../../components/states.tsx";
import { counted, figure } from "../../ui/text.tsx";
import type { LogLine } from "./log-lines.ts";
import classes from "./log.module.css";
import { type LogSource, useLog } from "./use-log.ts";

interface LogViewProps {
  readonly label: string;
  readonly source: LogSource;
  readonly linkTo: (line: number) => string;
}

const rowHeight = 20;
const keysUp = new Set(["ArrowUp", "PageUp", "Home"]);

export function LogView({ label, source, linkTo }: LogViewProps) {
  const { search, set } = useAddress();
  const named = Number(search["line"]) || undefined;
  const log = useLog(source, named);
  const { lines } = log;
  const [isFollowing, setFollowing] = useState(named === undefined);
  const box = useRef<HTMLDivElement>(null);
  const rows = useVirtualizer({
    count: lines.length,
    getScrollElement: () => box.current,
    estimateSize: () => rowHeight,
    overscan: 20,
  });
  const firstNumber = lines[0]?.number ?? 1;
  const show = (number: number) => rows.scrollToIndex(number - firstNumber, { align: "center" });
  useEffect(() => {
    if (isFollowing && lines.length > 0) rows.scrollToIndex(lines.length - 1, { align: "end" });
    // Not the count, which stays the same once the oldest lines are dropped.
  }, [isFollowing, lines, rows]);
  const isThere = named !== undefined && named >= firstNumber && named < firstNumber + lines.length;
  useEffect(() => {
    if (isThere && named !== undefined) show(named);
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, [isThere, named]);
  const found = useLogSearch(lines, search["find"], show);
  return (
    <Box>
      <Head
        found={found}
        status={log.hasEnded ? counted(firstNumber - 1 + lines.length, "line") : "Live"}
        isFollowing={log.hasEnded ? undefined : isFollowing}
        onFollow={setFollowing}
      />
      {log.error !== undefined && <ErrorMessage error={log.error} />}
      {log.dropped > 0 && (
        <Text c="dimmed" fz="sm" mb={4}>
          The first {counted(log.dropped, "line")} {log.dropped === 1 ? "is" : "are"} not shown.
        </Text>
      )}
      <Box
        ref={box}
        className={classes["log"]}
        tabIndex={0}
        role="region"
        aria-label={label}
        onWheel={({ deltaY }) => deltaY < 0 && setFollowing(false)}
        onTouchMove={() => setFollowing(false)}
        onKeyDown={({ key }) => keysUp.has(key) && setFollowing(false)}
      >
        <div style={{ height: rows.getTotalSize(), position: "relative" }}>
          {rows.getVirtualItems().map(({ index, start }) => (
            <Line
              key={index}
              line={lines[index]!}
              top={start}
              isNamed={lines[index]!.number === named}
              isCurrent={found.current === index}
              find={search["find"]}
              href={linkTo(lines[index]!.number)}
              onName={(number) => {
                setFollowing(false);
                set({ line: String(number) });
              }}
            />
          ))}
        </div>
        {lines.length === 0 && <Text c="dimmed">{log.hasEnded ? "This log is empty." : "Waiting for output…"}</Text>}
      </Box>
      {log.isPaused && (
        <Button variant="default" mt="xs" onClick={log.readOn}>
          Load the rest
        </Button>
      )}
    </Box>
  );
}

interface HeadProps {
  readonly found: LogSearchMatches;
  readonly status: string;
  readonly isFollowing: boolean | undefined;
  readonly onFollow: (isFollowing: boolean) => void;
}

function Head({ found, status, isFollowing, onFollow }: HeadProps) {
  const { search, set } = useAddress();
  return (
    <Group gap="xs" mb="xs">
      <SearchInput
        aria-label="Search log"
        placeholder="Search log…"
        data-search
        value={search["find"]}
        onChange={(find) => set({ find })}
        onKeyDown={({ key, shiftKey }) => key === "Enter" && found.go(shiftKey ? -1 : 1)}
        w={220}
      />
      {search["find"] && <SearchMatches found={found} />}
      <Text c="dimmed" fz="sm" ml="auto" aria-live="polite">
        {status}
      </Text>
      {isFollowing !== undefined && (
        <Button
          variant={isFollowing ? "light" : "default"}
          aria-pressed={isFollowing}
          onClick={() => onFollow(!isFollowing)}
        >
          Follow
        </Button>
      )}
    </Group>
  );
}

interface LogSearchMatches {
  readonly count: number;
  readonly matchIndex: number;
  readonly current: number | undefined;
  readonly go: (by: 1 | -1) => void;
}

function useLogSearch(
  lines: readonly LogLine[],
  find: string | undefined,
  show: (number: number) => void,
): LogSearchMatches {
  const [step, setStep] = useState(0);
  const matches = useMemo(() => {
    const searched = find?.toLowerCase() ?? "";
    if (searched === "") return [];
    return lines.flatMap(({ text }, index) => (text.toLowerCase().includes(searched) ? [index] : []));
  }, [lines, find]);
  const shown = useRef<string>(undefined);
  useEffect(() => {
    const [first] = matches;
    if (shown.current === find || first === undefined) return;
    shown.current = find;
    setStep(0);
    show(lines[first]!.number);
  }, [find, matches, lines, show]);
  const at = matches.length === 0 ? 0 : ((step % matches.length) + matches.length) % matches.length;
  return {
    count: matches.length,
    matchIndex: at,
    current: matches[at],
    go: (by) => {
      if (matches.length === 0) return;
      const next = (at + by + matches.length) % matches.length;
      setStep(next);
      show(lines[matches[next]!]!.number);
    },
  };
}

function SearchMatches({ found }: { readonly found: LogSearchMatches }) {
  return (
    <Group gap={4} wrap="nowrap">
      <Text fz="sm" c="dimmed" aria-live="polite">
        {found.count === 0 ? "No matches" : `${figure(found.matchIndex + 1)} of ${figure(found.count)}`}
      </Text>
      <ActionIcon
        variant="default"
        aria-label="Previous match"
        onClick={() => found.go(-1)}
        disabled={found.count === 0}
      >
        <IconArrowUp size={14} />
      </ActionIcon>
      <ActionIcon variant="default" aria-label="Next match" onClick={() => found.go(1)} disabled={found.count === 0}>
        <IconArrowDown size={14} />
      </ActionIcon>
    </Group>
  );
}

interface LogLineProps {
  readonly line: LogLine;
  readonly top: number;
  readonly isNamed: boolean;
  readonly isCurrent: boolean;
  readonly find: string | undefined;
  readonly href: string;
  readonly onName: (number: number) => void;
}

function Line({ line, top, isNamed, isCurrent, find, href, onName }: LogLineProps) {
  const name = (event: MouseEvent) => {
    if (event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    onName(line.number);
  };
  const state = isNamed ? classes["named"] : isCurrent ? classes["current"] : "";
  return (
    <div className={`${classes["line"]} ${state}`} style={{ top, height: rowHeight }}>
      <a href={`${prefix}${href}`} onClick={name} className={classes["number"]}>
        <VisuallyHidden>Line </VisuallyHidden>
        {line.number}
      </a>
      <span>
        {line.spans.map(({ text, style }, index) => (
          <span key={index} className={classesOf(style)}>
            {marked(text, find)}
          </span>
        ))}
      </span>
    </div>
  );
}

const classesOf = (style: string): string | undefined =>
  style === "" ? undefined : style.replaceAll(/\S+/g, (word) => classes[word] ?? "");

function marked(text: string, find: string | undefined) {
  if (!find) return text;
  const parts: React.ReactNode[] = [];
  const lower = text.toLowerCase();
  const searched = find.toLowerCase();
  let from = 0;
  for (let at = lower.indexOf(searched); at >= 0; at = lower.indexOf(searched, from)) {
    parts.push(text.slice(from, at), <mark key={at}>{text.slice(at, at + searched.length)}</mark>);
    from = at + searched.length;
  }
  return [...parts, text.slice(from)];
}
