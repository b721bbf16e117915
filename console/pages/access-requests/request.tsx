/** An access request: who asks for what and why, its effects, the rules that match, and the decision. */
import { Alert, Grid, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { useState } from "react";
import type { AccessChange } from "../../access/changes.ts";
import { ChangeList } from "../../access/change-text.tsx";
import { Effects } from "../../access/effects.tsx";
import { MatchingRules } from "../../access/matching-rules.tsx";
import { accessRequest } from "../../api/detail-queries.ts";
import { dataUnlessDeleted, LoadingRows, QueryContent } from "../../components/states.tsx";
import { paths } from "../../paths.ts";
import { Page, Section } from "../../ui/page.tsx";
import { AboutRequest, RequestTimeline } from "./about.tsx";
import { Decision, Withdraw } from "./decision.tsx";
import { detailsOf, type RequestDetails } from "./details.ts";
import { RequestStatus } from "./status.tsx";

const titleMax = 80;

function titleOf({ request }: RequestDetails): string {
  const [line = ""] = request.attributes.reason.split("\n");
  return line.length > titleMax ? `${line.slice(0, titleMax).trimEnd()}…` : line;
}

export default function AccessRequestPage() {
  const { organization, request: id } = useParams({ from: "/inside/$organization/access-requests/$request" });
  const query = useQuery(accessRequest(id));
  const response = dataUnlessDeleted(query);
  const details = response && detailsOf(organization, response);
  return (
    <Page
      title={details ? titleOf(details) : id}
      crumbs={[
        { label: organization, to: paths.organization(organization) },
        { label: "Requests", to: paths.accessRequests(organization) },
      ]}
      beside={details && <RequestStatus status={details.request.attributes.status} />}
      actions={details?.request.attributes.permissions["can-withdraw"] && <Withdraw details={details} />}
    >
      <QueryContent query={query} loading={<LoadingRows rows={10} />}>
        {() =>
          details && (
            <Grid gap="xl">
              <Grid.Col span={{ base: 12, md: 8 }} miw={0}>
                <RequestContent key={id} details={details} onReload={() => void query.refetch()} />
              </Grid.Col>
              <Grid.Col span={{ base: 12, md: 4 }} miw={0}>
                <AboutRequest details={details} />
                <RequestTimeline details={details} />
              </Grid.Col>
            </Grid>
          )
        }
      </QueryContent>
    </Page>
  );
}

interface ContentProps {
  readonly details: RequestDetails;
  readonly onReload: () => void;
}

function RequestContent({ details, onReload }: ContentProps) {
  const { organization, request, requester, names } = details;
  const { status, effects, changes, rules } = request.attributes;
  const effectsKey = JSON.stringify(effects);
  const [firstKey] = useState(effectsKey);
  const [isRefused, setRefused] = useState(false);
  const isPending = status === "pending";
  return (
    <>
      <Section title="Changes">
        <ChangeList
          organization={organization}
          changes={changes as readonly AccessChange[]}
          label="Requested changes"
          taker={requester}
          names={names}
        />
      </Section>
      <Section title="Effects">
        {isPending && (isRefused || firstKey !== effectsKey) && <Outdated isRefused={isRefused} />}
        {effects === null ? (
          <Text c="dimmed">This request changed nothing.</Text>
        ) : (
          <Effects preview={effects} isPast={!isPending} />
        )}
      </Section>
      {rules.length > 0 && (
        <Section title="Access rules" about="Rules of the organization that match these changes.">
          <MatchingRules rules={rules} />
        </Section>
      )}
      {isPending && (
        <Decision
          details={details}
          onStale={() => {
            setRefused(true);
            onReload();
          }}
        />
      )}
    </>
  );
}

const Outdated = ({ isRefused }: { readonly isRefused: boolean }) => (
  <Alert
    color="yellow"
    title="Access has changed. Here are the new effects"
    role="alert"
    styles={{ label: { color: "var(--mantine-color-text)" } }}
  >
    {isRefused && "Nothing was approved. "}Someone changed access after you opened this request. Review the effects
    again, then decide.
  </Alert>
);
