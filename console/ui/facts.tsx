/** Facts about one thing: names at the left, what they are at the right. */
import { Box, Text } from "@mantine/core";
import { Fragment, type ReactNode } from "react";
import classes from "./facts.module.css";

/** By name, where what is not so is left out; or in a list. */
export type FactList = Readonly<Record<string, ReactNode>> | readonly (readonly [string, ReactNode])[];

const isSo = (value: ReactNode) => value !== undefined && value !== null && value !== false && value !== "";

const listed = (facts: FactList): readonly (readonly [string, ReactNode])[] =>
  Array.isArray(facts) ? facts : Object.entries(facts).filter(([, value]) => isSo(value));

export function Facts({ facts, label }: { readonly facts: FactList; readonly label?: string }) {
  return (
    <Box component="dl" className={classes["facts"]} aria-label={label}>
      {listed(facts).map(([name, value]) => (
        <Fragment key={name}>
          <Text component="dt" c="dimmed" fz="sm">
            {name}
          </Text>
          <Text component="dd" m={0} style={{ overflowWrap: "anywhere" }}>
            {value}
          </Text>
        </Fragment>
      ))}
    </Box>
  );
}
