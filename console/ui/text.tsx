/** Small pieces of text: ids and names to copy, times, figures. */
import { ActionIcon, Code, CopyButton, Group, Text, Tooltip } from "@mantine/core";
import { IconCheck, IconCopy } from "@tabler/icons-react";
import type { ReactNode } from "react";
import { useNow } from "../now.ts";

function CopyIcon({ value, what = "" }: { readonly value: string; readonly what?: string }) {
  return (
    <CopyButton value={value} timeout={1500}>
      {({ copied, copy }) => (
        <Tooltip label={copied ? "Copied" : "Copy"}>
          <ActionIcon variant="subtle" color="gray" size="sm" onClick={copy} aria-label={`Copy ${what || value}`}>
            {copied ? <IconCheck size={14} /> : <IconCopy size={14} />}
          </ActionIcon>
        </Tooltip>
      )}
    </CopyButton>
  );
}

/** An id or a name: monospace, with copy on hover. */
export function Identifier({ value, children }: { readonly value: string; readonly children?: ReactNode }) {
  return (
    <Group gap={2} wrap="nowrap" className="copy-on-hover" component="span" display="inline-flex" miw={0}>
      <span className="mono wrapped">{children ?? value}</span>
      <CopyIcon value={value} />
    </Group>
  );
}

/** What matters less, of the size around it. */
export const Dimmed = ({ children, nowrap }: { readonly children: ReactNode; readonly nowrap?: boolean }) => (
  <Text span inherit c="dimmed" style={nowrap ? { whiteSpace: "nowrap" } : undefined}>
    {children}
  </Text>
);

/** A command or a file to paste. */
export function CodeToCopy({ text, label }: { readonly text: string; readonly label: string }) {
  return (
    <Group align="flex-start" wrap="nowrap" gap={4} role="group" aria-label={label}>
      <Code block flex={1} miw={0} fz="sm" tabIndex={0}>
        {text}
      </Code>
      <CopyIcon value={text} what={label} />
    </Group>
  );
}

const units: [Intl.RelativeTimeFormatUnit, number][] = [
  ["year", 31_536_000],
  ["month", 2_592_000],
  ["day", 86_400],
  ["hour", 3600],
  ["minute", 60],
];
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "short" });
const exact = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium" });

/** Less than this ahead of the clock is no future: two clocks are never quite the same. */
const skewSeconds = 10;

/** What is to come within the minute says so; what has happened never does. */
export function fromNow(time: string, now: number): string {
  const seconds = (Date.parse(time) - now) / 1000;
  for (const [unit, size] of units)
    if (Math.abs(seconds) >= size) return relative.format(Math.round(seconds / size), unit);
  return seconds > skewSeconds ? "in less than a minute" : "just now";
}

/** Relative, with the exact time on hover. */
export function When({ time, none = "–" }: { readonly time: string | null | undefined; readonly none?: string }) {
  const now = useNow();
  if (!time)
    return (
      <Text span inherit c="dimmed">
        {none}
      </Text>
    );
  return (
    <time dateTime={time} title={exact.format(new Date(time))} style={{ whiteSpace: "nowrap" }}>
      {fromNow(time, now)}
    </time>
  );
}

const figures = new Intl.NumberFormat("en");
export const figure = (count: number | null | undefined): string => (count == null ? "–" : figures.format(count));

/** "1 workspace", "12 workspaces". */
export const counted = (count: number, one: string, many = `${one}s`): string =>
  `${figure(count)} ${count === 1 ? one : many}`;

const sizes = ["B", "kB", "MB", "GB"];

/** "312 B", "4.2 MB". */
export function bytes(count: number): string {
  const step = Math.min(Math.floor(Math.log10(Math.max(count, 1)) / 3), sizes.length - 1);
  const value = count / 1000 ** step;
  return `${step === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${sizes[step]}`;
}

/** As the server searches: every word, in any order. */
export const hasWords = (label: string, text: string): boolean =>
  text
    .toLowerCase()
    .split(/\s+/)
    .every((word) => label.toLowerCase().includes(word));

export const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
