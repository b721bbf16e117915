/** The organization's own settings: what workspaces follow, sessions and tokens, retention, reserved keys, and its end. */
import { Stack } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { organization as organizationQuery } from "../../api/queries.ts";
import { paths } from "../../paths.ts";
import { Page } from "../../ui/page.tsx";
import { End } from "../../components/forms.tsx";
import { Asked } from "../../components/states.tsx";
import { General } from "./general.tsx";
import { ReservedKeys } from "./reserved-keys.tsx";
import { Retention } from "./retention.tsx";
import { TokenLifetimes } from "./token-lifetimes.tsx";

export default function OrganizationSettingsPage() {
  const { organization } = useParams({ from: "/inside/$organization" });
  const query = useQuery(organizationQuery(organization));
  return (
    <Page title="Settings" crumbs={[{ label: organization, to: paths.organization(organization) }]}>
      <Asked query={query}>
        {(answer) => {
          const { "can-update": mayUpdate, "can-destroy": mayDelete } = answer.data.attributes.permissions;
          return (
            <Stack gap={0} maw="44rem" key={answer.data.id}>
              <General answer={answer} />
              {!answer.isHosted && <Retention organization={organization} mayUpdate={mayUpdate === true} />}
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
  return (
    <End
      one="organization"
      name={organization}
      title="Delete organization"
      about="Deletes all of its projects, workspaces, states, teams and tokens."
      operation="DELETE /organizations/{organization_name}"
      input={{ path: { organization_name: organization } }}
      to={paths.home()}
    >
      This deletes every project, workspace, state, variable, team and token of {organization}. You can't undo this. The
      infrastructure that its workspaces manage is not destroyed, but nothing manages it afterwards.
    </End>
  );
}
