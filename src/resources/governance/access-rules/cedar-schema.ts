/** The Cedar schema of access rules, as its route serves it. */

export const cedarSchema = `// The entities, actions and context that access rules can name.

// Ids are those of the API; an organization's is its name.
entity User {
  username: String,
  email: String,
  isSiteAdmin: Bool,
};
entity Team { name: String };
entity Organization { name: String };
entity Project in [Organization] { name: String } tags String;
// The tags of a workspace include those of its project.
entity Workspace in [Project] { name: String, project: Project } tags String;

type Change = {
  // The team that gets or loses access, and the person who joins or leaves it.
  team?: Team,
  user?: User,
  // The access level of a grant: "read", "plan", "write", "maintain", "admin" or "custom".
  access?: String,
  // Newly given permissions: of a grant, by name and with each level reached, for example "runs" and "runs:apply"; of a
  // team in the organization, for example "manage-teams".
  permissions: Set<String>,
  // Absent: the access has no expiry.
  expiresInSeconds?: Long,
  reason?: String,
  // Whether an approved access request, or break-glass, makes the change.
  approved: Bool,
  breakGlass: Bool,
};

action grant, update, revoke appliesTo {
  principal: [User, Team, Organization],
  resource: [Project, Workspace],
  context: Change,
};
// updateTeam: any change of a team but its name and description.
action addMember, removeMember, updateTeam appliesTo {
  principal: [User, Team, Organization],
  resource: [Team],
  context: Change,
};
// The resource is the project that the workspace moves to.
action moveWorkspace appliesTo {
  principal: [User, Team, Organization],
  resource: [Project],
  context: Change,
};
action createToken appliesTo {
  principal: [User, Team, Organization],
  resource: [Team, Organization],
  context: Change,
};
`;
