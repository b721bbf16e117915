/** Facts about one thing: names at the left, what they are at the right. */
import { Box, Text } from "@mantine/core";
import { Fragment, type ReactNode } from "react";
import classes from "./facts.module.css";

export function Facts({ facts }: { readonly facts: readonly (readonly [string, ReactNode])[] }) {
  return (
    <Box component="dl" className={classes["facts"]}>
      {facts.map(([name, value]) => (
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
