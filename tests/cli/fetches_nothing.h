// What holds of every page: it fetches nothing, and says so to the browser.
#pragma once

#include <string>

#include <gmock/gmock.h>

namespace stowplan::testing {

inline void ExpectFetchesNothing(const std::string& page) {
  using ::testing::HasSubstr;
  EXPECT_THAT(page, HasSubstr("default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"));
  for (const char* fetched : {"<link", "@import", "url(", " src="})
    EXPECT_THAT(page, Not(HasSubstr(fetched)));
}

}  // namespace stowplan::testing
