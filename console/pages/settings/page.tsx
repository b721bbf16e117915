/** The organization's own settings: what workspaces follow, sessions and tokens, retention, reserved keys, and its end. */
import { Box, Stack } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { useAction } from "../../api/actions.ts";
import { organization as organizationQuery } from "../../api/queries.ts";
import { paths } from "../../paths.ts";
import { DangerButton } from "../../ui/dialog.tsx";
import { useGo } from "../../ui/link.tsx";
import { Page, Section } from "../../ui/page.tsx";
import { Asked } from "../../ui/states.tsx";
import { General } from "./general.tsx";
import { ReservedKeys } from "./reserved-keys.tsx";
import { Retention } from "./retention.tsx";
import { TokenLifetimes } from "./token-lifetimes.tsx";

export default function OrganizationSettingsPage() {
  const { organization } = useParams({ strict: false }) as { organization: string };
  const query = useQuery(organizationQuery(organization));
  return (
    <Page title="Settings" crumbs={[{ label: organization, to: paths.organization(organization) }]}>
      <Asked query={query}>
        {(answer) => {
          const { "can-update": mayUpdate, "can-destroy": mayDelete } = answer.data.attributes.permissions;
          return (
            <Stack gap={0} maw="44rem" key={answer.data.id}>
              <General answer={answer} />
              <Retention organization={organization} mayUpdate={mayUpdate === true} />
              <ReservedKeys organization={organization} mayUpdate={mayUpdate === true} />
              {mayUpdate && <TokenLifetimes organization={organization} />}
              {mayDelete && <Danger organization={organization} />}
            </Stack>
          );
        }}
      </Asked>
    </Page>
  );
}

function Danger({ organization }: { readonly organization: string }) {
  const go = useGo();
  const remove = useAction("DELETE /organizations/{organization_name}", {
    done: `Deleted the organization ${organization}.`,
    after: () => go(paths.home(), { replace: true }),
  });
  return (
    <Section
      title="Delete the organization"
      about="Everything in it goes: projects, workspaces, states, teams, tokens."
    >
      <Box>
        <DangerButton
          verb="Delete this organization"
          title={`Delete the organization ${organization}?`}
          typed={organization}
          isBusy={remove.isPending}
          onConfirm={() => remove.mutate({ path: { organization_name: organization } })}
        >
          Every project, workspace, state, variable, team and token of {organization} goes with it, and can't be had
          back. What the workspaces manage stays where it is, without anybody who knows of it.
        </DangerButton>
      </Box>
    </Section>
  );
}
