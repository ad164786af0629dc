# Writes the catalogue's files as byte arrays into one C++ source: `cmake -DOUT=… -DDIR=… -P embed.cmake`.
# Bytes, not string literals: literals have a size limit and escapes.
file(WRITE ${OUT}.new "#include \"cost_models/embedded_data.h\"\n\nnamespace stowplan::cost_models {\n")
foreach(file devices.yaml links.yaml efficiency.yaml host.yaml collectives.yaml)
  string(REGEX REPLACE "[.].*" "" name ${file})
  string(SUBSTRING ${name} 0 1 first)
  string(TOUPPER ${first} first)
  string(SUBSTRING ${name} 1 -1 rest)
  set(name ${first}${rest})
  file(READ ${DIR}/${file} hex HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
  file(APPEND ${OUT}.new "namespace {\nconstexpr unsigned char k${name}[] = {${bytes}};\n}\n"
       "std::string_view Embedded${name}() {\n"
       "  return {reinterpret_cast<const char*>(k${name}), sizeof k${name}};\n}\n")
endforeach()
# Megabytes, which the assembler copies.
set(list "")
file(GLOB PRICES ${DIR}/prices/*.json.zst)
foreach(file ${PRICES})
  get_filename_component(name ${file} NAME_WE)
  file(APPEND ${OUT}.new "extern \"C\" const char stowplan_prices_${name}[], stowplan_prices_${name}_end[];\n"
       "__asm__(\".section .rodata\\n.global stowplan_prices_${name}\\nstowplan_prices_${name}:\\n\"\n"
       "        \".incbin \\\"${file}\\\"\\n.global stowplan_prices_${name}_end\\nstowplan_prices_${name}_end:\\n\"\n"
       "        \".byte 0\\n.previous\\n\");\n")
  string(APPEND list "{\"cost_models/data/prices/${name}.json\", {stowplan_prices_${name}, "
         "static_cast<std::size_t>(stowplan_prices_${name}_end - stowplan_prices_${name})}},\n")
endforeach()
file(APPEND ${OUT}.new "std::vector<EmbeddedFile> EmbeddedPrices() {\n  return {${list}};\n}\n")
file(APPEND ${OUT}.new "}  // namespace stowplan::cost_models\n")
file(RENAME ${OUT}.new ${OUT})
