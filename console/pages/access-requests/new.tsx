/** Requests a team membership, or a team's access to a project or workspace, with a preview of the effects. */
import { Button, Group, Input, SegmentedControl, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { useState } from "react";
import { type AccessChange, grantChange, joinTeamChange } from "../../access/changes.ts";
import { attributesOf, defaultPermissions } from "../../access/columns.ts";
import { useGrant } from "../../access/existing-grant.ts";
import { CustomPermissionInputs, LevelInput } from "../../access/level-input.tsx";
import { AccessRequestForm } from "../../access/request-form.tsx";
import type { AccessTargetKind } from "../../access/words.ts";
import { teamAccess } from "../../api/detail-queries.ts";
import { account } from "../../api/queries.ts";
import { Picker, usePickerItem } from "../../components/pickers.tsx";
import { Empty } from "../../components/states.tsx";
import { paths, type SearchParameters } from "../../paths.ts";
import { useAddress } from "../../ui/address.ts";
import { Page } from "../../ui/page.tsx";

const targetKindOf = (search: SearchParameters): AccessTargetKind =>
  search["workspace"] !== undefined || search["on"] === "workspace" ? "workspace" : "project";

export default function RequestAccessPage() {
  const { organization } = useParams({ from: "/inside/$organization" });
  const { search, set } = useAddress();
  const isForTeam = search["for"] === "team";
  return (
    <Page
      title="Request access"
      crumbs={[
        { label: organization, to: paths.organization(organization) },
        { label: "Requests", to: paths.accessRequests(organization) },
      ]}
      about="People who could make the change themselves, and gain nothing from it, approve or deny it."
    >
      <Stack gap="md">
        <Choice
          label="Request"
          data={[
            { value: "me", label: "Join a team" },
            { value: "team", label: "Access for a team" },
          ]}
          value={isForTeam ? "team" : "me"}
          onChange={(next) => set({ for: next === "team" ? next : undefined })}
        />
        {isForTeam ? <GrantRequest organization={organization} /> : <SeatRequest organization={organization} />}
      </Stack>
    </Page>
  );
}

interface LabelledChoiceProps {
  readonly label: string;
  readonly data: { readonly value: string; readonly label: string }[];
  readonly value: string;
  readonly onChange: (value: string) => void;
}

function Choice({ label, ...rest }: LabelledChoiceProps) {
  const id = `choice-${label.toLowerCase()}`;
  return (
    <Input.Wrapper label={label} labelElement="div" labelProps={{ id }} size="sm">
      <Group>
        <SegmentedControl size="sm" h={36} style={{ alignItems: "center" }} aria-labelledby={id} {...rest} />
      </Group>
    </Input.Wrapper>
  );
}

interface RequestProps {
  readonly organization: string;
}

function SeatRequest({ organization }: RequestProps) {
  const { search, set } = useAddress();
  const team = search["team"];
  const me = useQuery(account()).data?.data.attributes.username;
  return (
    <>
      <Group align="flex-end" gap="sm">
        <Picker
          kind="teams"
          label="Team"
          placeholder="Search teams…"
          w={{ base: "100%", xs: 280 }}
          organization={organization}
          value={team}
          onChange={(team) => set({ team })}
        />
      </Group>
      <TeamsWithAccess />
      {team && me ? (
        <AccessRequestForm key={team} organization={organization} changes={[joinTeamChange(team, me)]} />
      ) : (
        <Empty title="Choose a team">All access comes from teams. You see what the team gives before you send.</Empty>
      )}
    </>
  );
}

const offeredMax = 12;

/** Readers of a project or workspace can see which teams have access to it. */
function TeamsWithAccess() {
  const { search, set } = useAddress();
  const kind = targetKindOf(search);
  const id = search[kind];
  const target = usePickerItem(`${kind}s`, id);
  const query = useQuery({ ...teamAccess({ kind, id: id ?? "" }, 1), enabled: id !== undefined, retry: false });
  const teams = query.data?.data ?? [];
  if (target === undefined || teams.length === 0) return null;
  return (
    <Stack gap={6}>
      <Text fz="sm">Teams with access to {target.attributes.name}:</Text>
      <Group gap={6}>
        {teams.slice(0, offeredMax).map(({ attributes, relationships }) => {
          const team = relationships.subject?.data?.id ?? "";
          return (
            <Button
              key={team}
              size="compact-sm"
              variant={team === search["team"] ? "filled" : "default"}
              aria-pressed={team === search["team"]}
              onClick={() => set({ team })}
            >
              {attributes["subject-name"]}
            </Button>
          );
        })}
      </Group>
    </Stack>
  );
}

function GrantRequest({ organization }: RequestProps) {
  const { search, set } = useAddress();
  const kind = targetKindOf(search);
  const [teamId, targetId] = [search["team"], search[kind]];
  return (
    <>
      <Group align="flex-end" gap="sm">
        <Picker
          kind="teams"
          label="Team"
          placeholder="Search teams…"
          w={{ base: "100%", xs: 240 }}
          organization={organization}
          value={teamId}
          onChange={(team) => set({ team })}
        />
        <Choice
          label="Scope"
          data={[
            { value: "project", label: "Project" },
            { value: "workspace", label: "Workspace" },
          ]}
          value={kind}
          onChange={(on) => set({ on: on === "workspace" ? on : undefined, project: undefined, workspace: undefined })}
        />
        <Picker
          key={kind}
          kind={`${kind}s`}
          label={kind === "project" ? "Project" : "Workspace"}
          placeholder={`Search ${kind}s…`}
          w={{ base: "100%", xs: 280 }}
          organization={organization}
          value={targetId}
          onChange={(id) => set({ [kind]: id })}
        />
      </Group>
      {teamId && targetId ? (
        <GrantRequestForm key={`${teamId} ${targetId}`} {...{ organization, kind, teamId, targetId }} />
      ) : (
        <Empty title={teamId ? `Choose a ${kind}` : "Choose a team"}>
          You see who would gain access, and to how many workspaces, before you send.
        </Empty>
      )}
    </>
  );
}

interface GrantRequestFormProps extends RequestProps {
  readonly kind: AccessTargetKind;
  readonly teamId: string;
  readonly targetId: string;
}

function GrantRequestForm({ organization, kind, teamId, targetId }: GrantRequestFormProps) {
  const { search } = useAddress();
  const [level, setLevel] = useState(search["level"] ?? "read");
  const [chosen, setChosen] = useState(() => defaultPermissions(kind));
  const { query, record } = useGrant({ kind, teamId, targetId });
  const attributes = { access: level, ...(level === "custom" && attributesOf(chosen)) };
  const changes: readonly AccessChange[] = query.isLoading
    ? []
    : [grantChange(kind, targetId, teamId, attributes, record?.id)];
  return (
    <>
      <LevelInput kind={kind} value={level} onChange={setLevel} />
      {level === "custom" && <CustomPermissionInputs kind={kind} chosen={chosen} onChange={setChosen} />}
      {record && (
        <Text fz="sm" c="dimmed">
          The team already has {record.attributes.access} here. An approved request changes that grant.
        </Text>
      )}
      <AccessRequestForm organization={organization} changes={changes} />
    </>
  );
}
