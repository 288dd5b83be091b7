package limiter

import (
	"testing"
	"time"
)

func TestAtRoundsDown(t *testing.T) {
	i := At(time.Unix(1_800_000_000, 123_456_999))
	if want := Instant(1_800_000_000_123_456); i != want {
		t.Errorf("At = %d, want %d", i, want)
	}
	if got, want := i.Time(), time.Date(2027, 1, 15, 8, 0, 0, 123_456_000, time.UTC); !got.Equal(want) {
		t.Errorf("Time = %v, want %v", got, want)
	}
}

func TestInstantRoundsUpToSeconds(t *testing.T) {
	for _, test := range []struct {
		now, at     Instant
		unix, until int64
	}{
		{10 * sec, 10 * sec, 10, 0},
		{10 * sec, 10*sec + 1, 11, 1},
		{10*sec + 1, 11 * sec, 11, 1},
		{10 * sec, 11 * sec, 11, 1},
		{10 * sec, 11*sec + 1, 12, 2},
		{10 * sec, 9*sec + 1, 10, 0},
		{0, Never, 9_223_372_036_855, 9_223_372_036_855},
		{0, -sec - 1, -1, 0},
	} {
		if got := test.at.Unix(); got != test.unix {
			t.Errorf("Instant(%d).Unix() = %d, want %d", test.at, got, test.unix)
		}
		if got := test.at.SecondsUntil(test.now); got != test.until {
			t.Errorf("Instant(%d).SecondsUntil(%d) = %d, want %d", test.at, test.now, got, test.until)
		}
	}
}

func TestInstantFollow(t *testing.T) {
	for _, test := range []struct {
		name        string
		newest, now Instant
		at          Instant
		setBack     bool
	}{
		{"later", 10 * sec, 11 * sec, 11 * sec, false},
		{"same", 10 * sec, 10 * sec, 10 * sec, false},
		{"late", 10 * sec, 10*sec - 1, 10 * sec, false},
		{"late by all that is allowed", 10 * sec, 9 * sec, 10 * sec, false},
		{"set back", 10 * sec, 9*sec - 1, 9*sec - 1, true},
	} {
		if at, setBack := test.newest.follow(test.now); at != test.at || setBack != test.setBack {
			t.Errorf("%s: %d.follow(%d) = %d, %t, want %d, %t",
				test.name, test.newest, test.now, at, setBack, test.at, test.setBack)
		}
	}
}

func TestInstantInto(t *testing.T) {
	for _, test := range []struct {
		at     Instant
		length int64
		want   int64
	}{{0, 60, 0}, {59, 60, 59}, {60, 60, 0}, {-1, 60, 59}, {-60, 60, 0}, {7, 1, 0}} {
		if got := test.at.into(test.length); got != test.want {
			t.Errorf("Instant(%d).into(%d) = %d, want %d", test.at, test.length, got, test.want)
		}
	}
}

func TestInstantPlus(t *testing.T) {
	for _, test := range []struct {
		at   Instant
		us   int64
		want Instant
	}{
		{5, 7, 12},
		{-5, 7, 2},
		{Never - 1, 1, Never},
		{Never - 1, 2, Never},
		{Never, int64(Never), Never},
		{-5, int64(Never), Never - 5},
	} {
		if got := test.at.plus(test.us); got != test.want {
			t.Errorf("Instant(%d).plus(%d) = %d, want %d", test.at, test.us, got, test.want)
		}
	}
}
