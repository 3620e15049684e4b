package main

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"time"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/promotion"
)

const delivery = "default/bench"

// pushed is a push that was announced.
type pushed struct {
	commit  string
	git     time.Duration // what git push itself took
	arrived time.Time     // when the webhook's request was sent
}

// push commits, pushes and posts the webhook, as a Git host does.
func (b *bench) push(ctx context.Context, w work) (pushed, error) {
	commit, err := b.commit(ctx, w)
	if err != nil {
		return pushed{}, err
	}
	began := time.Now()
	if err := git(ctx, b.repo, "push", "--quiet", "origin", "HEAD:main"); err != nil {
		return pushed{}, err
	}
	p := pushed{commit: commit, git: time.Since(began), arrived: time.Now()}
	return p, b.post(ctx, commit)
}

func (b *bench) post(ctx context.Context, commit string) error {
	url := "file://" + filepath.Join(b.settings.Git.FileRoot, "bench.git")
	body, err := json.Marshal(map[string]any{"ref": "refs/heads/main", "after": commit, "before": commit, "repository": map[string]string{"clone_url": url}})
	if err != nil {
		return err
	}
	mac := hmac.New(sha256.New, []byte(b.settings.Webhook.GithubSecret.Reveal()))
	mac.Write(body)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+b.settings.Webhook.Listen+"/api/webhook", bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("X-GitHub-Event", "push")
	request.Header.Set("X-GitHub-Delivery", rand.Text())
	request.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close() //nolint:errcheck // nothing was written
	if response.StatusCode != http.StatusAccepted {
		return fmt.Errorf("post the push: %s", response.Status)
	}
	return nil
}

// observeEvery is how often the API is asked.
const observeEvery = 20 * time.Millisecond

// observe asks the API until it shows what is wanted.
func (b *bench) observe(ctx context.Context, what string, shown func(promotion.Status) bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, 5*time.Minute, fmt.Errorf("the API does not show %s", what))
	defer cancel()
	ticker := time.NewTicker(observeEvery)
	defer ticker.Stop()
	for {
		status, err := b.api.Delivery(ctx, delivery)
		if err == nil && shown(status) {
			return nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("%w: last %+v (%w)", context.Cause(ctx), status, err)
		}
	}
}

// delivered says whether at least n targets are Synced and Healthy at a commit.
func delivered(commit string, n int) func(promotion.Status) bool {
	return func(s promotion.Status) bool {
		done := 0
		for _, t := range s.Targets {
			if t.Revision == commit && t.Sync == gitops.Synced && t.Health == gitops.Healthy {
				done++
			}
		}
		return done >= n
	}
}

// ready says whether a URL answers 200.
func ready(url string) func(context.Context) error {
	return func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close() //nolint:errcheck // nothing was written
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("%s answers %s", url, response.Status)
		}
		return nil
	}
}
