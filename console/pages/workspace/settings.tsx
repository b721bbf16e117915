/** The settings of a workspace by section; the section is in the address. */
import { Box, Grid } from "@mantine/core";
import type { ReactNode } from "react";
import { useAddress } from "../../ui/address.ts";
import { NavigationLink } from "../../ui/link.tsx";
import { paths } from "../../paths.ts";
import { WorkspaceFrame } from "./frame.tsx";
import type { WorkspaceDetails } from "./details.ts";
import { DangerZone } from "./danger.tsx";
import { GeneralSettings } from "./general.tsx";
import { SshKeyAndRetention } from "./ssh-key-and-retention.tsx";
import { Sharing, Triggers } from "./sharing.tsx";
import { Tagging } from "./tagging.tsx";

const parts: readonly {
  readonly part: string;
  readonly label: string;
  readonly draw: (details: WorkspaceDetails) => ReactNode;
}[] = [
  { part: "", label: "General", draw: (details) => <GeneralSettings details={details} /> },
  { part: "tags", label: "Tags", draw: (details) => <Tagging details={details} /> },
  { part: "sharing", label: "State sharing", draw: (details) => <Sharing details={details} /> },
  { part: "triggers", label: "Run triggers", draw: (details) => <Triggers details={details} /> },
  { part: "keeping", label: "SSH key and retention", draw: (details) => <SshKeyAndRetention details={details} /> },
  { part: "delete", label: "Delete", draw: (details) => <DangerZone details={details} /> },
];

export default function WorkspaceSettingsPage() {
  const { search } = useAddress();
  const here = parts.find(({ part }) => part === (search["part"] ?? "")) ?? parts[0]!;
  return (
    <WorkspaceFrame>
      {(details) => (
        <Grid gap="xl">
          <Grid.Col span={{ base: 12, sm: 3, lg: 2 }}>
            <Box component="nav" aria-label="Settings sections">
              {parts.map(({ part, label }) => (
                <NavigationLink
                  key={part}
                  to={paths.workspaceSettings(details.organization, details.workspace.attributes.name, part)}
                  label={label}
                  active={part === here.part}
                  aria-current={part === here.part ? "page" : undefined}
                  py={5}
                  px="xs"
                />
              ))}
            </Box>
          </Grid.Col>
          <Grid.Col span={{ base: 12, sm: 9, lg: 10 }} miw={0}>
            {here.draw(details)}
          </Grid.Col>
        </Grid>
      )}
    </WorkspaceFrame>
  );
}
