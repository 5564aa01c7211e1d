# The opt-in modules: a target elastic::<name> and an umbrella <elastic/<name>.hpp> each. The
# headers and elastic::compiled have all of them; a target states that a program uses one, and makes
# it visible in the single header.
set(elastic_modules)
# A module, and those that it includes.
function(elastic_add_module name)
  string(TOUPPER "${name}" upper)
  add_library(elastic_${name} INTERFACE)
  add_library(elastic::${name} ALIAS elastic_${name})
  set_target_properties(elastic_${name} PROPERTIES EXPORT_NAME ${name})
  target_link_libraries(elastic_${name} INTERFACE elastic::headers)
  foreach(other IN LISTS ARGN)
    target_link_libraries(elastic_${name} INTERFACE elastic::${other})
  endforeach()
  target_compile_definitions(elastic_${name} INTERFACE ELASTIC_WITH_${upper}=1)
  set(elastic_modules ${elastic_modules} elastic_${name} PARENT_SCOPE)
endfunction()
# In the order of the table of what they may include, in scripts/tidy.py.
elastic_add_module(nodes)
elastic_add_module(torch nodes)
elastic_add_module(etcd nodes torch)
elastic_add_module(file nodes)
elastic_add_module(python)
elastic_add_module(functions)
elastic_add_module(roles nodes)
elastic_add_module(status)
elastic_add_module(diagnosis python)
elastic_add_module(wire)
elastic_add_module(vault)
elastic_add_module(cli python status diagnosis wire vault)
elastic_add_module(testing)
# The former name of a module.
add_library(elastic::inspection ALIAS elastic_diagnosis)
