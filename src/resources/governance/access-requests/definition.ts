/** An access request: stored changes of access that wait for approval. */
import { z } from "zod";
import type { OrganizationStanding } from "../../../access/organization.ts";
import type { AccessRequestTable } from "../../../database/schema/access-requests.ts";
import { defineResource } from "../../../jsonapi/define.ts";
import { choiceParameter, textParameter } from "../../../jsonapi/query.ts";
import { flags, oneOf, text, timestamp, wholeNumber } from "../../../jsonapi/schemas.ts";
import type { OrganizationFacts } from "../../identity/organizations/definition.ts";
import type { AccessChangeRequest } from "../../sharing/access-previews/changes.ts";
import {
  accessChange,
  accessDifference,
  type DescribedEffects,
  hiddenCounts,
  matchedRule,
  shownDifferences,
  shownRule,
} from "../../sharing/access-previews/definition.ts";
import type { RuleMatch } from "../../shared/hooks.ts";

const changesMax = 20;
export const pendingMax = 50;
/** In an hour, of one person. */
export const breakGlassMax = 20;
const durationRange = { min: 300, max: 31_536_000 };

const requestStatuses = ["pending", "approved", "denied", "withdrawn", "lapsed"] as const;
export type AccessRequestStatus = (typeof requestStatuses)[number];

const requestPermissionNames = ["can-approve", "can-deny", "can-withdraw"] as const;
export type AccessRequestPermissions = Readonly<Record<(typeof requestPermissionNames)[number], boolean>>;

export interface AccessRequestView
  extends Omit<AccessRequestTable, "status" | "changes" | "effects" | "rules">, OrganizationFacts {
  readonly standing: OrganizationStanding;
  readonly status: AccessRequestStatus;
  readonly changes: readonly AccessChangeRequest[];
  readonly accessVersion: string;
  /** Null in lists, and where nothing was applied and nothing can be. */
  readonly effects: DescribedEffects | null;
  readonly rules: readonly RuleMatch[];
  readonly permissions: AccessRequestPermissions;
}

const effects = z
  .object({
    gains: z.array(accessDifference),
    losses: z.array(accessDifference),
    "unseen-gains": hiddenCounts,
    "unseen-losses": hiddenCounts,
  })
  .nullable();

const shownEffects = ({ gains, losses, unseenGains, unseenLosses }: DescribedEffects) => ({
  gains: shownDifferences(gains),
  losses: shownDifferences(losses),
  "unseen-gains": unseenGains,
  "unseen-losses": unseenLosses,
});

/** They are stored as sent, and every list contains them. */
const changesBytesMax = 65_536;
export const areStorable = (changes: readonly object[]): boolean =>
  Buffer.byteLength(JSON.stringify(changes)) <= changesBytesMax;
export const storableSentence = `is too long (maximum is ${changesBytesMax} bytes of JSON)`;

const sentence = text({ min: 1, max: 500, pattern: /\S/, sentence: "can't be blank" });

const decision = <Attributes extends z.ZodType>(attributes: Attributes) => ({
  custom: z.object({ data: z.object({ type: z.literal("access-requests"), attributes }) }),
});

const deciders =
  "a user who can make every change or belongs to an approver team of the offer, and is neither the requester nor a beneficiary; not with a token of a team or of the organization";

const includes = ["requester", "decided_by"];

export const accessRequests = defineResource<AccessRequestView>()(({ requiredFixed, fixed, readOnly, toOne }) => ({
  type: "access-requests",
  doc: "Changes of access that a user asks for and somebody else approves. All are made in one transaction, or none.",
  id: (request) => request.id,
  version: (request) => [request.version, request.organizationFactsVersion],
  isUncacheable: true,
  attributes: {
    status: readOnly(
      oneOf(requestStatuses),
      "`pending` until a decision; every other value is final. `lapsed`: nobody decided before `lapses-at`.",
    ),
    reason: requiredFixed(sentence, "Why the access is needed."),
    changes: requiredFixed(
      z
        .array(accessChange)
        .min(1, { error: "must contain at least one change" })
        .max(changesMax)
        .refine(areStorable, { error: storableSentence }),
      `At most ${changesMax} changes, in the form of an access preview's. Together at most ${changesBytesMax} bytes of JSON.`,
      { column: false },
    ),
    "duration-seconds": fixed(
      wholeNumber(durationRange).nullable(),
      "How long after the approval each grant and team membership expires, or earlier if its own `expires-at` is earlier. Only for changes that create grants or team memberships.",
      { default: null },
    ),
    "created-at": readOnly(timestamp(), "When the request was created."),
    "lapses-at": readOnly(timestamp(), "When the request lapses if nobody decides."),
    "decided-at": readOnly(timestamp().nullable(), "When it was approved, denied or withdrawn."),
    "decision-comment": readOnly(text().nullable(), "The comment of the user who decided."),
    "access-version": readOnly(
      text(),
      "Changes with every change of access in the organization. Send it to approve what you have seen.",
      { audited: false },
    ),
    effects: readOnly(
      effects,
      "What each team and user gains and loses, in the form of an access preview: as of now while the request is pending, and what was applied once it is approved. Null in lists, and for a request that ended otherwise.",
      { from: (request) => (request.effects === null ? null : shownEffects(request.effects)), audited: false },
    ),
    rules: readOnly(
      z.array(matchedRule),
      "The access rules that match the changes. In lists, those that matched when the request was created or decided.",
      {
        from: (request) => request.rules.map(shownRule),
        audited: false,
      },
    ),
    permissions: readOnly(flags(requestPermissionNames), "What the caller can do.", { audited: false }),
  },
  relationships: {
    requester: toOne("users", "The user who asks for the changes.", {
      id: (request) => request.requesterId,
      related: (request) => `/api/v2/users/${request.requesterId}`,
    }),
    "decided-by": toOne("users", "The user who approved or denied the request; null for break-glass access.", {
      nullable: true,
      id: (request) => request.decidedById,
    }),
    organization: toOne("organizations", "The organization.", {
      id: (request) => request.organizationName,
      related: (request) => `/api/v2/organizations/${request.organizationName}`,
    }),
    offer: toOne("access-offers", "The access offer that the changes are copied from.", {
      nullable: true,
      id: (request) => request.offerId,
    }),
  },
  links: (request) => ({ self: `/api/v2/access-requests/${request.id}` }),
  operations: {
    createAccessRequest: {
      method: "POST",
      path: "/organizations/:organization_name/access-requests",
      summary: "Request changes of access",
      needs: "an active member, as a user, with read access to everything that the changes name",
      body: "create",
      answer: "created",
      example: {
        data: {
          type: "access-requests",
          attributes: {
            reason: "Incident 4711",
            "duration-seconds": 3600,
            changes: [
              {
                method: "POST",
                path: "/api/v2/team-projects",
                body: {
                  data: {
                    type: "team-projects",
                    attributes: { access: "write" },
                    relationships: {
                      project: { data: { type: "projects", id: "prj-1234567890abcdef" } },
                      team: { data: { type: "teams", id: "team-1234567890abcdef" } },
                    },
                  },
                },
              },
            ],
          },
        },
      },
    },
    listAccessRequests: {
      method: "GET",
      path: "/organizations/:organization_name/access-requests",
      summary: "List access requests, newest first",
      needs: "a member: its own requests and those that it can decide; owners: all",
      query: {
        paged: true,
        include: includes,
        parameters: {
          "filter[status]": choiceParameter(requestStatuses, "Only requests with this status."),
          "filter[requester]": textParameter("Only requests of the user with this id."),
          "filter[mine]": choiceParameter(
            ["to-decide", "requested"],
            "`to-decide`: only pending requests that the caller can approve or deny; `requested`: only the caller's own.",
          ),
        },
      },
      answer: "list",
    },
    showAccessRequest: {
      method: "GET",
      path: "/access-requests/:access_request_id",
      summary: "Show an access request",
      needs: "the requester, users who can make all of its changes, members of its offer's approver teams, and owners",
      query: { include: includes },
      answer: "document",
    },
    approveAccessRequest: {
      method: "POST",
      path: "/access-requests/:access_request_id/actions/approve",
      summary: "Approve an access request, and make its changes",
      needs: deciders,
      body: decision(
        z.object({
          "access-version": text({ min: 1, max: 256 }),
          comment: sentence.nullable().optional(),
        }),
      ),
      ifMatch: true,
      answer: "document",
      mayWarn: true,
      example: { data: { type: "access-requests", attributes: { "access-version": "42", comment: "For one hour." } } },
    },
    denyAccessRequest: {
      method: "POST",
      path: "/access-requests/:access_request_id/actions/deny",
      summary: "Deny an access request",
      needs: deciders,
      body: decision(z.object({ comment: sentence })),
      ifMatch: true,
      answer: "document",
      example: { data: { type: "access-requests", attributes: { comment: "Ask for plan access instead." } } },
    },
    withdrawAccessRequest: {
      method: "POST",
      path: "/access-requests/:access_request_id/actions/withdraw",
      summary: "Withdraw an access request",
      needs: "the requester",
      ifMatch: true,
      answer: "document",
    },
  },
}));
