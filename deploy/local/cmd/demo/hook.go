package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tidegate/tidegate/internal/config"
)

// postReceive is the repository's hook: it reads what was pushed from its
// standard input, as git gives it, and posts each ref as GitHub would.
func postReceive() *cobra.Command {
	var file, repository string
	c := &cobra.Command{
		Use: "post-receive", Short: "Post what was pushed, as a Git host does", Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			settings, err := config.Load(file)
			if err != nil {
				return err
			}
			lines := bufio.NewScanner(os.Stdin)
			for lines.Scan() {
				old, commit, _ := strings.Cut(lines.Text(), " ")
				commit, ref, _ := strings.Cut(commit, " ")
				if err := post(cmd.Context(), settings, repository, pushed{Ref: ref, Before: old, After: commit}); err != nil {
					return err
				}
			}
			return lines.Err()
		},
	}
	c.Flags().StringVar(&file, "config", "", "settings file")
	c.Flags().StringVar(&repository, "repository", "", "the repository's URL")
	return c
}

// pushed is the part of GitHub's push event that matters here.
type pushed struct {
	Ref        string `json:"ref"`
	Before     string `json:"before"`
	After      string `json:"after"`
	Repository struct {
		CloneURL string `json:"clone_url"`
	} `json:"repository"`
}

func post(ctx context.Context, settings config.Settings, repository string, p pushed) error {
	p.Repository.CloneURL = repository
	body, err := json.Marshal(p)
	if err != nil {
		return err
	}
	mac := hmac.New(sha256.New, []byte(settings.Webhook.GithubSecret.Reveal()))
	mac.Write(body)
	url := "http://" + settings.Webhook.Listen + "/api/webhook"
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("X-GitHub-Event", "push")
	request.Header.Set("X-GitHub-Delivery", rand.Text())
	request.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("post the push: %w", err)
	}
	defer response.Body.Close() //nolint:errcheck // nothing was written
	answer, _ := io.ReadAll(io.LimitReader(response.Body, 1<<10))
	fmt.Printf("webhook: %s %s\n", response.Status, strings.TrimSpace(string(answer)))
	return nil
}
