/** The last step: the `cloud` block of a workspace, a token for it, and waiting until its first state is there. */
import { Alert, Button, Group, Loader, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { useState } from "react";
import { useAction } from "../../api/actions.ts";
import { account, organization as organizationQuery, workspaceNamed } from "../../api/queries.ts";
import { paths } from "../../paths.ts";
import { useAddress } from "../../ui/address.ts";
import { Link, LinkButton } from "../../ui/link.tsx";
import { inDays } from "../../ui/moment.tsx";
import { Page, Section } from "../../ui/page.tsx";
import { CodeToCopy, counted } from "../../ui/text.tsx";
import { cliConfiguration, cloudBlock, commands, firstResource, hostnameOf, isOverHttps } from "./cloud-block.ts";
import { Steps } from "./steps.tsx";

const everyMs = 2_000;
const tokenDays = 90;

export default function StartPage() {
  const { organization, workspace } = useParams({ strict: false }) as { organization: string; workspace: string };
  const { search } = useAddress();
  const [token, setToken] = useState<string>();
  const place = { origin: location.origin, organization, workspace };
  const query = useQuery({
    ...workspaceNamed(organization, workspace),
    refetchInterval: ({ state }) => (state.data?.data.relationships["current-state-version"]?.data ? false : everyMs),
  });
  const isThere = Boolean(query.data?.data.relationships["current-state-version"]?.data);
  return (
    <Page
      title={`Keep the state of ${workspace} here`}
      crumbs={[
        { label: organization, to: paths.organization(organization) },
        { label: "Workspaces", to: paths.workspaces(organization) },
        { label: workspace, to: paths.workspace(organization, workspace) },
      ]}
      actions={
        <LinkButton to={paths.workspace(organization, workspace)} variant={isThere ? "filled" : "default"}>
          Open the workspace
        </LinkButton>
      }
    >
      <Stack maw="44rem" gap={0}>
        {search["first"] === "yes" && <Steps at={isThere ? 4 : 3} />}
        <Waiting isThere={isThere} resources={query.data?.data.attributes["resource-count"]} />
        <Section title="1. A token" about="Terraform and OpenTofu show it instead of a password.">
          <MakeToken organization={organization} workspace={workspace} token={token} onToken={setToken} />
        </Section>
        <Section
          title="2. The CLI's configuration"
          about={
            isOverHttps(place) ? (
              <>
                Save it as <code>cadastre.tfrc</code> beside your configuration, and keep it out of version control.
              </>
            ) : (
              <>
                Save it as <code>cadastre.tfrc</code>. This service is reached without TLS, and the CLI looks for hosts
                by HTTPS alone: so the file also says where the services of <code>{hostnameOf(place)}</code> are. Keep
                that to one machine, since tokens and states can be read on the way.
              </>
            )
          }
        >
          <CodeToCopy label="cadastre.tfrc" text={cliConfiguration(place, token ?? "YOUR TOKEN")} />
        </Section>
        <Section
          title="3. The cloud block"
          about={
            <>
              Paste it into your configuration. In an empty folder, save it as <code>main.tf</code> with this resource
              to try.
            </>
          }
        >
          <CodeToCopy label="The cloud block" text={cloudBlock(place)} />
          <CodeToCopy label="A resource to try" text={firstResource} />
        </Section>
        <Section title="4. The first state" about="With OpenTofu, say tofu instead of terraform.">
          <CodeToCopy label="The commands" text={commands} />
        </Section>
      </Stack>
    </Page>
  );
}

function Waiting({ isThere, resources }: { readonly isThere: boolean; readonly resources: number | null | undefined }) {
  return (
    <Alert color={isThere ? "teal" : "gray"} mb="lg" role="status">
      {isThere ? (
        <Text fw={600}>
          The first state is here{resources == null ? "" : `: ${counted(resources, "resource")}`}. All is set.
        </Text>
      ) : (
        <Group gap="sm" wrap="nowrap">
          <Loader size={16} aria-hidden />
          <Text>Waiting for the first state… This turns green by itself.</Text>
        </Group>
      )}
    </Alert>
  );
}

interface MakeTokenProps {
  readonly organization: string;
  readonly workspace: string;
  readonly token: string | undefined;
  readonly onToken: (token: string) => void;
}

function MakeToken({ organization, workspace, token, onToken }: MakeTokenProps) {
  const me = useQuery(account()).data?.data;
  const isTaken = useQuery(organizationQuery(organization)).data?.data.attributes["user-tokens-enabled"];
  const make = useAction("POST /users/{user_id}/authentication-tokens", {
    done: "Made a token. It is in the configuration below, and shown only now.",
    after: ({ data }) => onToken(data.attributes.token ?? ""),
  });
  if (isTaken === false)
    return (
      <Text>
        {organization} does not take tokens of people. Make one for a <Link to={paths.teams(organization)}>team</Link>{" "}
        and put it where it says YOUR TOKEN.
      </Text>
    );
  if (token !== undefined)
    return (
      <Text>
        Made: it is in the configuration below, works for {tokenDays} days, and can be revoked in{" "}
        <Link to={paths.account()}>your account</Link>.
      </Text>
    );
  return (
    <Group gap="sm">
      <Button
        loading={make.isPending}
        disabled={!me}
        onClick={() =>
          make.mutate({
            path: { user_id: me!.id },
            body: {
              data: {
                type: "authentication-tokens",
                attributes: { description: `Terraform for ${workspace}`, "expired-at": inDays(tokenDays) },
              },
            },
          })
        }
      >
        Make a token
      </Button>
      <Text c="dimmed" fz="sm">
        Yours, for {tokenDays} days. Or use one that you have.
      </Text>
    </Group>
  );
}
