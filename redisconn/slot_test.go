package redisconn

import "testing"

func TestSlotOf(t *testing.T) {
	for key, want := range map[string]int{
		"": 0, "foo": 12182, "bar": 5061, "123456789": 0x31C3, "{foo}": 12182, "x{foo}y{bar}": 12182, "foo{}": 5542,
		"{}foo": 9500, "foo{{bar}}zap": 4015, "{user1000}.following": 3443, "{user1000": 8723,
	} {
		if got := slotOf(key); got != want {
			t.Errorf("slotOf(%q) = %d, want %d", key, got, want)
		}
	}
}
