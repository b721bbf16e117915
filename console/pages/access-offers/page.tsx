/** Access offers: access that members of some teams can take, immediately or with one approval. */
import { Badge, Button, Group } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import type { Resource } from "../../api/client.ts";
import { accessOffers } from "../../api/list-queries.ts";
import { useRights } from "../../api/queries.ts";
import { List } from "../../components/list.tsx";
import { Empty } from "../../components/states.tsx";
import { paths } from "../../paths.ts";
import { useAddress } from "../../ui/address.ts";
import { FormDialog } from "../../ui/dialog.tsx";
import { durationText } from "../../ui/duration.ts";
import { Link, LinkButton } from "../../ui/link.tsx";
import { Page } from "../../ui/page.tsx";
import { Dimmed } from "../../ui/text.tsx";
import { isBreakGlass, TakeForm, takeVerb } from "./take.tsx";

export default function AccessOffersPage() {
  const { organization } = useParams({ from: "/inside/$organization" });
  const { search, set } = useAddress();
  const rights = useRights(organization);
  const query = useQuery(accessOffers(organization, search));
  const taken = query.data?.data.find(({ id }) => id === search["take"]);
  const close = () => set({ take: undefined });
  return (
    <Page
      title="Offers"
      crumbs={[{ label: organization, to: paths.organization(organization) }]}
      about="Access that you can take when you need it, for a limited time."
      actions={
        rights?.["can-create-team"] && <LinkButton to={paths.newAccessOffer(organization)}>New offer</LinkButton>
      }
    >
      <List
        one="offer"
        label="Offers"
        isSearched={false}
        query={query}
        keyOf={({ id }) => id}
        empty={
          <Empty title="No offers yet">
            {rights?.["can-create-team"]
              ? "An offer gives the members of some teams access for a limited time: immediately in an emergency, or after one approval."
              : "Owners can offer access to your teams. Offers that you can take appear here."}
          </Empty>
        }
        columns={() => [
          { title: "Name", cell: (offer) => <OfferName organization={organization} offer={offer} /> },
          {
            title: "Approval",
            cell: ({ attributes }) =>
              attributes.approvals === "none" ? <Badge color="red">break glass</Badge> : "one",
          },
          {
            title: "Up to",
            isExtra: true,
            cell: ({ attributes }) => durationText(attributes["duration-seconds-max"]),
          },
          {
            title: "Actions",
            width: 1,
            cell: (offer) => <Actions organization={organization} offer={offer} />,
          },
        ]}
      />
      <FormDialog
        opened={taken !== undefined}
        onClose={close}
        title={taken ? `${isBreakGlass(taken) ? "Break glass" : "Take offer"}: ${taken.attributes.name}` : ""}
      >
        {taken && <TakeForm organization={organization} offer={taken} onClose={close} />}
      </FormDialog>
    </Page>
  );
}

interface OfferProps {
  readonly organization: string;
  readonly offer: Resource<"access-offers">;
}

function OfferName({ organization, offer: { id, attributes } }: OfferProps) {
  return (
    <>
      <Group gap="xs">
        <Link to={paths.accessOffer(organization, id)}>{attributes.name}</Link>
        {!attributes.enabled && <Badge color="gray">disabled</Badge>}
      </Group>
      {attributes.description && <Dimmed>{attributes.description}</Dimmed>}
    </>
  );
}

function Actions({ offer }: OfferProps) {
  const { set } = useAddress();
  const { name, permissions } = offer.attributes;
  return (
    permissions["can-take"] && (
      <Button
        size="compact-xs"
        {...(isBreakGlass(offer) ? { color: "red" } : { variant: "default" })}
        aria-label={`${takeVerb(offer)}: ${name}`}
        onClick={() => set({ take: offer.id }, { replace: false })}
      >
        {takeVerb(offer)}
      </Button>
    )
  );
}
