/** A name that keeps its telling end where there is too little room for all of it: `network-…-production`. */
import { VisuallyHidden } from "@mantine/core";
import classes from "./name.module.css";

/** Shorter ones have room enough even on a phone, and stay one piece of text. */
const lengthMin = 18;
const tailMax = 16;
const tailUsual = 10;

/** From the first separator on that leaves a tail of a few characters; else the last ones. */
export function halvesOf(name: string): readonly [string, string] {
  const at = name.slice(-tailMax).search(/[-_./ ]/);
  const tail = at < 0 || at > tailMax - 4 ? tailUsual : tailMax - at;
  return [name.slice(0, -tail), name.slice(-tail)];
}

interface NameProps {
  readonly children: string;
  /** Not in monospace. */
  readonly isPlain?: boolean;
}

/** The whole name is on hover, in what is copied, and read to those who can't see it. */
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
