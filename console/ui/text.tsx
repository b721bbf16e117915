/** Names, numbers, times and values as every page shows them. */
import { ActionIcon, Code, CopyButton, Group, Text, Tooltip, VisuallyHidden } from "@mantine/core";
import { IconCheck, IconCopy } from "@tabler/icons-react";
import type { ReactNode } from "react";
import { useNow } from "../now.ts";
import { endText, expiryText } from "./expiry.ts";
import classes from "./name.module.css";

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

export function Identifier({ value, children }: { readonly value: string; readonly children?: ReactNode }) {
  return (
    <Group gap={2} wrap="nowrap" className="copy-on-hover" component="span" display="inline-flex" miw={0}>
      <span className="mono wrapped">{children ?? value}</span>
      <CopyIcon value={value} />
    </Group>
  );
}

export const Dimmed = ({ children, nowrap }: { readonly children: ReactNode; readonly nowrap?: boolean }) => (
  <Text span inherit c="dimmed" style={nowrap ? { whiteSpace: "nowrap" } : undefined}>
    {children}
  </Text>
);

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

/** Clocks differ, so less than this in the future counts as now. */
const skewSeconds = 10;

export function fromNow(time: string, now: number): string {
  const seconds = (Date.parse(time) - now) / 1000;
  for (const [unit, size] of units)
    if (Math.abs(seconds) >= size) return relative.format(Math.round(seconds / size), unit);
  return seconds > skewSeconds ? "in less than a minute" : "just now";
}

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

export const counted = (count: number, one: string, many = `${one}s`): string =>
  `${figure(count)} ${count === 1 ? one : many}`;

const sizes = ["B", "kB", "MB", "GB"];

export function bytes(count: number): string {
  const step = Math.min(Math.floor(Math.log10(Math.max(count, 1)) / 3), sizes.length - 1);
  const value = count / 1000 ** step;
  return `${step === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${sizes[step]}`;
}

/** The server's search rule: every word, in any order. */
export const hasWords = (label: string, text: string): boolean =>
  text
    .toLowerCase()
    .split(/\s+/)
    .every((word) => label.toLowerCase().includes(word));

export const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

const exactEnd = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "long" });

interface ExpiresProps {
  readonly time: string | null | undefined;
  readonly isSentence?: boolean;
}

export function Expires({ time, isSentence = false }: ExpiresProps) {
  const now = useNow();
  if (!time) return <Dimmed>{isSentence ? "never expires" : "never"}</Dimmed>;
  return (
    <time dateTime={time} title={exactEnd.format(new Date(time))}>
      {isSentence || Date.parse(time) <= now ? expiryText(time, now) : endText(time, now)}
    </time>
  );
}

const shortMax = 100;
const longMax = 20_000;

export function textOf(value: unknown): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text === undefined
    ? ""
    : text.length > shortMax && typeof value !== "string"
      ? JSON.stringify(value, null, 2)
      : text;
}

export function Value({ value, label }: { readonly value: unknown; readonly label: string }) {
  const text = textOf(value);
  if (text === "")
    return (
      <Text span inherit c="dimmed">
        empty
      </Text>
    );
  if (text.length <= shortMax && !text.includes("\n")) return <span className="mono">{text}</span>;
  const shown = text.length > longMax ? `${text.slice(0, longMax)}\n… ${text.length - longMax} more characters` : text;
  return (
    <Code block fz="sm" mah="14rem" style={{ overflow: "auto" }} tabIndex={0} aria-label={label}>
      {shown}
    </Code>
  );
}

export function sentenceCase(name: string): string {
  const words = name.replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

export const listed = (names: readonly string[]): string =>
  names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;

const lengthMin = 18;
const tailMax = 16;
const tailUsual = 10;

/** At the first separator that leaves a short tail; else before the last characters. */
export function halvesOf(name: string): readonly [string, string] {
  const at = name.slice(-tailMax).search(/[-_./ ]/);
  const tail = at < 0 || at > tailMax - 4 ? tailUsual : tailMax - at;
  return [name.slice(0, -tail), name.slice(-tail)];
}

interface NameProps {
  readonly children: string;
  readonly isPlain?: boolean;
}

/** The tooltip, the clipboard and screen readers get the whole name. */
export function Name({ children: name, isPlain = false }: NameProps) {
  const font = isPlain ? "" : "mono";
  if (name.length < lengthMin) return <span className={font}>{name}</span>;
  const [head, tail] = halvesOf(name);
  return (
    <span data-name className={`${classes["name"]} ${font}`} title={name}>
      <VisuallyHidden>{name}</VisuallyHidden>
      <span aria-hidden className={classes["head"]}>
        {head}
      </span>
      <span aria-hidden className={classes["tail"]}>
        {tail}
      </span>
    </span>
  );
}
