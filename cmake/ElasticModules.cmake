# The opt-in modules: a target elastic::<name> and an umbrella <elastic/<name>.hpp> each. The
# headers and elastic::compiled have all of them; a target states that a program uses one, and makes
# it visible in the single header.
set(elastic_modules)
function(elastic_add_module name)
  string(TOUPPER "${name}" upper)
  add_library(elastic_${name} INTERFACE)
  add_library(elastic::${name} ALIAS elastic_${name})
  set_target_properties(elastic_${name} PROPERTIES EXPORT_NAME ${name})
  target_link_libraries(elastic_${name} INTERFACE elastic::elastic)
  target_compile_definitions(elastic_${name} INTERFACE ELASTIC_WITH_${upper}=1)
  set(elastic_modules ${elastic_modules} elastic_${name} PARENT_SCOPE)
endfunction()
# One call for each; scripts/tidy.py has the table of what they may include.
