/** Keyboard shortcuts, and the list of them that `?` opens. */
import { Group, Kbd, Modal, Stack, Text } from "@mantine/core";
import { useDisclosure, useHotkeys } from "@mantine/hooks";
import { useParams } from "@tanstack/react-router";
import { useRef } from "react";
import { paths } from "./paths.ts";
import { useGo } from "./ui/link.tsx";

const keys: [string, string][] = [
  ["Ctrl K", "Search, go to a page, or run an action"],
  ["/", "Search the list on this page"],
  ["g w", "Go to workspaces"],
  ["g p", "Go to projects"],
  ["g t", "Go to teams"],
  ["g a", "Go to audit log"],
  ["?", "Show keyboard shortcuts"],
  ["Esc", "Close dialog"],
];

const chordMs = 1_000;

export function Keys() {
  const [opened, { open, close }] = useDisclosure();
  const organization = useParams({ from: "/inside/$organization", shouldThrow: false })?.organization;
  const chordStartedAt = useRef(0);
  const go = useGo();
  const pagePaths: Record<string, (organization: string) => string> = {
    w: paths.workspaces,
    p: paths.projects,
    t: paths.teams,
    a: paths.audit,
  };
  useHotkeys([
    ["shift+?", open],
    ["?", open],
    ["/", () => document.querySelector<HTMLInputElement>("[data-search]")?.focus()],
    ["g", () => void (chordStartedAt.current = Date.now()), { preventDefault: false }],
    ...Object.entries(pagePaths).map(([key, path]): [string, () => void, { preventDefault: boolean }] => [
      key,
      () => {
        if (organization && Date.now() - chordStartedAt.current < chordMs) go(path(organization));
      },
      { preventDefault: false },
    ]),
  ]);
  return (
    <Modal opened={opened} onClose={close} title="Keyboard shortcuts" closeButtonProps={{ "aria-label": "Close" }}>
      <Stack gap="xs">
        {keys.map(([key, what]) => (
          <Group key={key} justify="space-between">
            <Text>{what}</Text>
            <Kbd>{key}</Kbd>
          </Group>
        ))}
      </Stack>
    </Modal>
  );
}
