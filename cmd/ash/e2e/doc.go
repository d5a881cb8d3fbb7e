// Package e2e holds the tests that use Ash as a person does: the real binary, started
// as a process on a home of its own, in a real Chromium, against a model server that
// says what the test scripted. There is no code here but tests.
//
// What they look at is the document contract of package views: ids, roles and labels,
// and what a person reads. Nothing is mocked and nothing is timed: a test
// waits for what should become true, with a deadline. Every tab also fails its test for a
// console error, a breach of the content policy or a failed request that the test did not announce.
//
// Without Chromium the tests are skipped, or fail where ASH_TEST_REQUIRE names chromium.
// With -update the screenshots in docs/screenshots are made anew.
package e2e
