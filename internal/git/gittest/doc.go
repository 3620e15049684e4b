// Package gittest runs a real Git server inside a test process: bare
// repositories in a temporary folder, served by git's own http-backend, and work
// trees that push to it with the real git. It needs the git program.
//
//	server := gittest.NewServer(t)
//	repo := server.NewRepo("shop")
//	repo.Write("app/deploy.yaml", "kind: Deployment")
//	sha := repo.CommitAndPush("first")
//
// Everything is deterministic: same content, same commits. A helper that cannot
// do its work ends the test.
package gittest
