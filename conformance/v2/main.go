// Command v2 tests the basic calls of go-tfe v2, the client that is generated from the official OpenAPI document, against the server
// in TFE_ADDRESS, with the token in TFE_TOKEN. It exits with 1 at the first call that fails.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	tfe "github.com/hashicorp/go-tfe/v2"
	"github.com/hashicorp/go-tfe/v2/api/models"
)

func main() {
	if err := try(os.Getenv("TFE_ADDRESS"), os.Getenv("TFE_TOKEN")); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

func try(address, token string) error {
	client, err := tfe.NewClient(&tfe.Config{Address: address, Token: token})
	if err != nil {
		return err
	}
	ctx := context.Background()
	account, err := client.API.Account().Details().Get(ctx, nil)
	if err != nil {
		return fmt.Errorf("account details: %w", err)
	}
	if account.GetData() == nil || account.GetData().GetId() == nil {
		return errors.New("account details: no id")
	}
	name := "go-tfe-v2"
	created, err := client.API.Organizations().Post(ctx, organization(name), nil)
	if err != nil {
		return fmt.Errorf("create organization: %w", err)
	}
	if got := created.GetData().GetAttributes().GetName(); got == nil || *got != name {
		return errors.New("create organization: another name")
	}
	ours := client.API.Organizations().ByOrganization_name(name)
	made, err := ours.Projects().Post(ctx, project("networking"), nil)
	if err != nil {
		return fmt.Errorf("create project: %w", err)
	}
	projects, err := ours.Projects().Get(ctx, nil)
	if err != nil {
		return fmt.Errorf("list projects: %w", err)
	}
	if len(projects.GetData()) != 2 || *projects.GetData()[0].GetId() != *made.GetData().GetId() {
		return fmt.Errorf("list projects: %d, or the newest is not first", len(projects.GetData()))
	}
	if err := tryWorkspaces(ctx, client, name); err != nil {
		return err
	}
	if err := ours.Delete(ctx, nil); err != nil {
		return fmt.Errorf("delete organization: %w", err)
	}
	if _, err := ours.Get(ctx, nil); !errors.Is(err, tfe.ErrNotFound) {
		return fmt.Errorf("show a deleted organization: %w", err)
	}
	return nil
}

func tryWorkspaces(ctx context.Context, client *tfe.Client, organization string) error {
	ours := client.API.Organizations().ByOrganization_name(organization)
	made, err := ours.Workspaces().Post(ctx, workspace("vpc"), nil)
	if err != nil {
		return fmt.Errorf("create workspace: %w", err)
	}
	one := client.API.Workspaces().ByWorkspace_id(*made.GetData().GetId())
	variable, err := one.Vars().Post(ctx, terraformVariable("region", "eu-north-1"), nil)
	if err != nil {
		return fmt.Errorf("create variable: %w", err)
	}
	if value := variable.GetData().GetAttributes().GetValue(); value == nil || *value != "eu-north-1" {
		return errors.New("create variable: another value")
	}
	reason := "because"
	asked := models.NewActionReason()
	asked.SetReason(&reason)
	locked, err := one.Actions().Lock().Post(ctx, asked, nil)
	if err != nil {
		return fmt.Errorf("lock: %w", err)
	}
	if held := locked.GetData().GetAttributes().GetLocked(); held == nil || !*held {
		return errors.New("lock: not locked")
	}
	if _, err := one.Actions().Unlock().Post(ctx, nil); err != nil {
		return fmt.Errorf("unlock: %w", err)
	}
	if _, err := one.Get(ctx, nil); err != nil {
		return fmt.Errorf("show workspace: %w", err)
	}
	listed, err := ours.Workspaces().Get(ctx, nil)
	if err != nil {
		return fmt.Errorf("list workspaces: %w", err)
	}
	if len(listed.GetData()) != 1 {
		return fmt.Errorf("list workspaces: %d", len(listed.GetData()))
	}
	_, err = ours.Workspaces().Post(ctx, workspace("no spaces here"), nil)
	var refused *tfe.APIError
	if !errors.As(err, &refused) || refused.StatusCode != 422 || len(refused.Details) == 0 {
		return fmt.Errorf("create a workspace with a bad name: %w", err)
	}
	return nil
}

func organization(name string) models.OrganizationsEnvelopeable {
	kind, email := models.ORGANIZATIONS_ORGANIZATIONS_TYPE, "ops@example.com"
	attributes := models.NewOrganizations_attributes()
	attributes.SetName(&name)
	attributes.SetEmail(&email)
	data := models.NewOrganizations()
	data.SetTypeEscaped(&kind)
	data.SetAttributes(attributes)
	envelope := models.NewOrganizationsEnvelope()
	envelope.SetData(data)
	return envelope
}

func project(name string) models.ProjectsEnvelopeable {
	kind := models.PROJECTS_PROJECTS_TYPE
	attributes := models.NewProjects_attributes()
	attributes.SetName(&name)
	data := models.NewProjects()
	data.SetTypeEscaped(&kind)
	data.SetAttributes(attributes)
	envelope := models.NewProjectsEnvelope()
	envelope.SetData(data)
	return envelope
}

func workspace(name string) models.WorkspacesEnvelopeable {
	kind := models.WORKSPACES_WORKSPACES_TYPE
	attributes := models.NewWorkspaces_attributes()
	attributes.SetName(&name)
	data := models.NewWorkspaces()
	data.SetTypeEscaped(&kind)
	data.SetAttributes(attributes)
	envelope := models.NewWorkspacesEnvelope()
	envelope.SetData(data)
	return envelope
}

func terraformVariable(key, value string) models.VarsEnvelopeable {
	kind, category := models.VARS_VARS_TYPE, models.TERRAFORM_VARS_ATTRIBUTES_CATEGORY
	attributes := models.NewVars_attributes()
	attributes.SetKey(&key)
	attributes.SetValue(&value)
	attributes.SetCategory(&category)
	data := models.NewVars()
	data.SetTypeEscaped(&kind)
	data.SetAttributes(attributes)
	envelope := models.NewVarsEnvelope()
	envelope.SetData(data)
	return envelope
}
