/** The pages of a new and of an existing offer. */
import { Box } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { ChangeList, TeamName } from "../../access/change-text.tsx";
import { accessOffer } from "../../api/detail-queries.ts";
import { QueryContent } from "../../components/states.tsx";
import { DeleteSection } from "../../components/settings.tsx";
import { paths } from "../../paths.ts";
import { durationText } from "../../ui/duration.ts";
import { LinkButton } from "../../ui/link.tsx";
import { DescriptionList, Page } from "../../ui/page.tsx";
import { Dimmed } from "../../ui/text.tsx";
import { OfferForm } from "./form.tsx";
import { type Offer, takeVerb } from "./take.tsx";

const crumbsOf = (organization: string) => [
  { label: organization, to: paths.organization(organization) },
  { label: "Offers", to: paths.accessOffers(organization) },
];

export function NewOffer() {
  const { organization } = useParams({ from: "/inside/$organization" });
  return (
    <Page
      title="New offer"
      crumbs={crumbsOf(organization)}
      about="You can offer only access that you can give. This is checked again each time someone takes the offer."
    >
      <Box maw="46rem">
        <OfferForm organization={organization} />
      </Box>
    </Page>
  );
}

export function OfferPage() {
  const { organization, offer: id } = useParams({ from: "/inside/$organization/offers/$offer" });
  const query = useQuery(accessOffer(id));
  const offer = query.data?.data;
  return (
    <Page
      title={offer?.attributes.name ?? " "}
      crumbs={crumbsOf(organization)}
      actions={
        offer?.attributes.permissions["can-take"] && (
          <LinkButton to={paths.accessOffers(organization, id)}>{takeVerb(offer)}…</LinkButton>
        )
      }
    >
      <QueryContent query={query}>
        {({ data, etag }) =>
          data.attributes.permissions["can-update"] ? (
            <Box maw="46rem" key={id}>
              <OfferForm organization={organization} known={{ data, etag }} />
              <Box mt="xl">
                <Danger organization={organization} offer={data} />
              </Box>
            </Box>
          ) : (
            <Details organization={organization} offer={data} />
          )
        }
      </QueryContent>
    </Page>
  );
}

interface OfferDetails {
  readonly organization: string;
  readonly offer: Offer;
}

function Details({ organization, offer: { attributes, relationships } }: OfferDetails) {
  return (
    <DescriptionList
      items={{
        Description: attributes.description,
        Access: <ChangeList organization={organization} changes={attributes.changes} label="Access" />,
        "Eligible teams": <Teams organization={organization} teams={relationships["eligible-teams"]?.data} />,
        Approval: attributes.approvals === "none" ? "None: break glass. All owners are notified." : "One",
        "Maximum duration": durationText(attributes["duration-seconds-max"]),
        Status: attributes.enabled ? "Enabled" : "Disabled",
      }}
    />
  );
}

interface OfferTeamsProps {
  readonly organization: string;
  readonly teams: readonly { readonly id: string }[] | undefined;
}

const Teams = ({ organization, teams = [] }: OfferTeamsProps) =>
  teams.length === 0 ? (
    <Dimmed>None that you can see</Dimmed>
  ) : (
    teams.map(({ id }, index) => (
      <span key={id}>
        {index > 0 && ", "}
        <TeamName organization={organization} id={id} />
      </span>
    ))
  );

const Danger = ({ organization, offer: { id, attributes } }: OfferDetails) => (
  <DeleteSection
    one="offer"
    name={attributes.name}
    operation="DELETE /access-offers/{access_offer_id}"
    input={{ path: { access_offer_id: id } }}
    to={paths.accessOffers(organization)}
  >
    Nobody can take it anymore, and pending requests made from it can no longer be approved. Access that was taken stays
    until it expires.
  </DeleteSection>
);
