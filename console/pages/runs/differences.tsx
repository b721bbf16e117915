/** The attributes of a resource before and after, changed ones first. */
import { Button, Text } from "@mantine/core";
import { useMemo, useState } from "react";
import { counted, textOf } from "../../ui/text.tsx";
import { differencesOf, type PlannedChange, type PlanDifference, type DifferenceSide } from "./plan-view.ts";
import classes from "./plan.module.css";

const shownMax = 300;

export function Differences({ change, label }: { readonly change: PlannedChange; readonly label: string }) {
  const [isWhole, setWhole] = useState(false);
  const all = useMemo(() => differencesOf(change), [change]);
  const differing = all.filter(({ kind }) => kind !== "same");
  const same = all.length - differing.length;
  const rows = (isWhole ? all : differing).slice(0, shownMax);
  return (
    <div className={classes["differences"]}>
      <table aria-label={label}>
        <tbody>
          {rows.map((each) => (
            <Row key={each.path} difference={each} />
          ))}
        </tbody>
      </table>
      {rows.length === 0 && <Text c="dimmed">No attributes change.</Text>}
      {(isWhole ? all : differing).length > shownMax && (
        <Text c="dimmed">The first {shownMax} attributes are shown. The JSON plan has all of them.</Text>
      )}
      {same > 0 && !isWhole && (
        <Button variant="subtle" color="gray" px={0} onClick={() => setWhole(true)}>
          Show {counted(same, "unchanged attribute")}
        </Button>
      )}
    </div>
  );
}

const signs = { added: "+", removed: "−", changed: "~", same: "" } as const;
const classByKind = { added: "create", removed: "delete", changed: "update", same: "same" } as const;

function Row({
  difference: { path, kind, before, after, forcesReplacement },
}: {
  readonly difference: PlanDifference;
}) {
  return (
    <tr>
      <td className={`${classes["sign"]} ${classes[classByKind[kind]]}`} title={kind}>
        {signs[kind]}
      </td>
      <th scope="row" className={classes["path"]}>
        {path === "" ? "value" : path}
      </th>
      <td className={classes["values"]}>
        {kind === "changed" && <SideView side={before} isOld />}
        {kind === "changed" && <span aria-label="becomes"> → </span>}
        <SideView side={kind === "removed" ? before : after} isOld={kind === "removed"} />
        {forcesReplacement && <span className={classes["delete"]}> forces replacement</span>}
      </td>
    </tr>
  );
}

const words = { sensitive: "(sensitive)", unknown: "(known after apply)" } as const;

const longMax = 4_000;

function SideView({ side, isOld }: { readonly side: DifferenceSide; readonly isOld: boolean }) {
  if (side === undefined) return <i>(none)</i>;
  if ("word" in side) return <i>{words[side.word]}</i>;
  const text = textOf(side.value);
  const isLong = text.includes("\n");
  const shown = typeof side.value === "string" && !isLong ? JSON.stringify(text) : text;
  return (
    <span className={`${isOld ? classes["old"] : ""} ${isLong ? classes["long"] : ""}`}>
      {shown.length > longMax ? `${shown.slice(0, longMax)}…` : shown}
    </span>
  );
}
