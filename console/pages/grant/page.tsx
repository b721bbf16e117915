/** Grants a team access, with a preview of the effects; also changes and removes existing grants. */
import { Alert, Button, Group, Input, SegmentedControl, Stack } from "@mantine/core";
import { useParams } from "@tanstack/react-router";
import { grantTypes, revokeChange } from "../../access/changes.ts";
import { useGrant } from "../../access/existing-grant.ts";
import { Preview } from "../../access/preview.tsx";
import type { AccessTargetKind } from "../../access/words.ts";
import { paths } from "../../paths.ts";
import { Picker, usePickerItem } from "../../components/pickers.tsx";
import { useAddress } from "../../ui/address.ts";
import { Expires } from "../../ui/text.tsx";
import { useGo } from "../../ui/link.tsx";
import { Page } from "../../ui/page.tsx";
import { Empty, LoadingRows, ErrorMessage } from "../../components/states.tsx";
import { GrantForm } from "./form.tsx";

export default function GrantPage() {
  const { organization } = useParams({ from: "/inside/$organization" });
  const { search, set } = useAddress();
  const kind: AccessTargetKind =
    search["workspace"] !== undefined || search["on"] === "workspace" ? "workspace" : "project";
  const teamId = search["team"];
  const targetId = search[kind];
  const chooseKind = (on: string) =>
    set({ on: on === "workspace" ? on : undefined, project: undefined, workspace: undefined, mode: undefined });
  return (
    <Page title="Grant access" crumbs={[{ label: organization, to: paths.organization(organization) }]}>
      <Stack gap="md">
        <Group align="flex-end" gap="sm">
          <Picker
            kind="teams"
            label="Team"
            placeholder="Search teams…"
            autoFocus={teamId === undefined}
            w={{ base: "100%", xs: 240 }}
            organization={organization}
            value={teamId}
            onChange={(team) => set({ team, mode: undefined })}
          />
          <Input.Wrapper label="Scope" labelElement="div" labelProps={{ id: "grant-on" }} size="sm">
            <SegmentedControl
              display="flex"
              size="sm"
              h={36}
              style={{ alignItems: "center" }}
              aria-labelledby="grant-on"
              data={[
                { value: "project", label: "Project" },
                { value: "workspace", label: "Workspace" },
              ]}
              value={kind}
              onChange={chooseKind}
            />
          </Input.Wrapper>
          <Picker
            key={kind}
            kind={`${kind}s`}
            label={kind === "project" ? "Project" : "Workspace"}
            placeholder={`Search ${kind}s…`}
            autoFocus={teamId !== undefined && targetId === undefined}
            w={{ base: "100%", xs: 280 }}
            organization={organization}
            value={targetId}
            onChange={(id) => set({ [kind]: id, mode: undefined })}
          />
        </Group>
        {teamId && targetId ? (
          <GrantTarget key={`${teamId} ${targetId}`} {...{ organization, kind, teamId, targetId }} />
        ) : (
          <Empty title={teamId ? `Choose a ${kind}` : "Choose a team"}>
            Before anything is saved, you see who would gain access, and to how many workspaces.
          </Empty>
        )}
      </Stack>
    </Page>
  );
}

interface GrantTargetProps {
  readonly organization: string;
  readonly kind: AccessTargetKind;
  readonly teamId: string;
  readonly targetId: string;
}

function GrantTarget(props: GrantTargetProps) {
  const { organization, kind, teamId, targetId } = props;
  const { search, set } = useAddress();
  const { query, record } = useGrant({ kind, targetId, teamId });
  const team = usePickerItem("teams", teamId);
  const target = usePickerItem(`${kind}s`, targetId);
  const go = useGo();
  if (query.isError) return <ErrorMessage error={query.error} />;
  if (!query.data || !team || !target) return <LoadingRows rows={5} />;
  const names = { team: team.attributes.name, target: target.attributes.name };
  const back = () =>
    go(
      kind === "project"
        ? paths.projectAccess(organization, targetId)
        : paths.workspaceAccess(organization, target.attributes.name),
    );
  if (record && search["mode"] === "remove")
    return (
      <Preview
        organization={organization}
        changes={[revokeChange(grantTypes[kind], record.id)]}
        verb="Remove grant"
        color="red"
        done={`Removed the grant of ${names.team} on ${names.target}.`}
        after={back}
        onCancel={() => set({ mode: undefined })}
      />
    );
  return (
    <>
      {record && (
        <Alert color="blue" variant="light" p="xs" role="note">
          <Group justify="space-between" gap="sm">
            <span>
              {names.team} already has <b>{record.attributes.access}</b> on {names.target},{" "}
              <Expires time={record.attributes["expires-at"]} isSentence />. Saving replaces this grant.
            </span>
            <Button variant="default" onClick={() => set({ mode: "remove" })}>
              Remove grant…
            </Button>
          </Group>
        </Alert>
      )}
      <GrantForm key={record?.id ?? "new"} {...{ organization, kind, teamId, targetId, names, record }} after={back} />
    </>
  );
}
