// Where measured plans are kept.
#pragma once

#include <string>

namespace nnefc {

/// The file that --tuning names ("" when it is not given: the usual place); "" for none.
std::string database_path(const std::string& option);

}  // namespace nnefc
